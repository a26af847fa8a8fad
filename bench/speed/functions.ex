defmodule ExBurn.Bench.Functions do
  @moduledoc false
  # What the workloads compute, as peers.py does: the same parameters and the same steps.

  import Nx.Defn
  alias Nx.Defn.Composite

  defn add_one(x), do: x + 1

  defn product(a, b), do: Nx.dot(a, b)

  defn chain(x) do
    s = Nx.sigmoid(2 * x + 1)
    Nx.sum(Nx.exp(Nx.tanh(s * x) + s))
  end

  defn normalized_softmax(x), do: x |> softmax() |> normalize()

  defn perceptron_adam({parameters, _, _, _} = state, x, labels) do
    {loss, gradients} = value_and_grad(parameters, &cross_entropy(perceptron(&1, x), labels))
    {loss, adam(state, gradients)}
  end

  defn perceptron_sgd(parameters, x, labels) do
    {loss, gradients} = value_and_grad(parameters, &cross_entropy(perceptron(&1, x), labels))
    {loss, sgd(parameters, gradients)}
  end

  defn convolutional_adam({parameters, _, _, _} = state, x, labels) do
    {loss, gradients} = value_and_grad(parameters, &cross_entropy(convolutional(&1, x), labels))
    {loss, adam(state, gradients)}
  end

  defn transformer_sgd(parameters, x, opts \\ []) do
    {loss, gradients} = value_and_grad(parameters, &Nx.mean(encoder(&1, x, opts) ** 2))
    {loss, sgd(parameters, gradients)}
  end

  # As libraries do, with the product of all inputs before the loop.
  defn lstm(x, input_weights, hidden_weights, bias) do
    inputs = x |> Nx.transpose(axes: [1, 0, 2]) |> dense(input_weights, bias)
    {steps, batch, _} = Nx.shape(inputs)
    {size, _} = Nx.shape(hidden_weights)
    zeros = Nx.broadcast(0.0, {batch, size})
    outputs = Nx.broadcast(0.0, {steps, batch, size})

    {_, _, _, outputs, _, _} =
      while {step = 0, hidden = zeros, cell = zeros, outputs, inputs, hidden_weights},
            step < steps do
        gates = inputs[step] + Nx.dot(hidden, hidden_weights)
        input = Nx.sigmoid(gates[[.., 0..(size - 1)]])
        forget = Nx.sigmoid(gates[[.., size..(2 * size - 1)]])
        candidate = Nx.tanh(gates[[.., (2 * size)..(3 * size - 1)]])
        output = Nx.sigmoid(gates[[.., (3 * size)..(4 * size - 1)]])

        cell = forget * cell + input * candidate
        hidden = output * Nx.tanh(cell)
        outputs = Nx.put_slice(outputs, [step, 0, 0], Nx.new_axis(hidden, 0))
        {step + 1, hidden, cell, outputs, inputs, hidden_weights}
      end

    outputs
  end

  ## Networks

  deftransform perceptron(parameters, x) do
    {hidden, [last]} =
      parameters |> Tuple.to_list() |> Enum.chunk_every(2) |> Enum.split(-1)

    [weights, bias] = last

    hidden
    |> Enum.reduce(x, fn [weights, bias], x -> relu(dense(x, weights, bias)) end)
    |> dense(weights, bias)
  end

  defnp convolutional(parameters, x) do
    x
    |> convolution(parameters.kernel_1, parameters.bias_1)
    |> relu()
    |> max_pool()
    |> convolution(parameters.kernel_2, parameters.bias_2)
    |> relu()
    |> max_pool()
    |> Nx.flatten(axes: [1, 2, 3])
    |> dense(parameters.weights, parameters.bias)
  end

  defnp encoder(p, x, opts) do
    x = normalize(x + attention(p, x, opts)) * p.attention_scale + p.attention_shift

    forward = x |> dense(p.up_weights, p.up_bias) |> gelu() |> dense(p.down_weights, p.down_bias)
    normalize(x + forward) * p.forward_scale + p.forward_shift
  end

  defnp attention(p, x, opts) do
    query = x |> dense(p.query_weights, p.query_bias) |> split_heads(opts)
    key = x |> dense(p.key_weights, p.key_bias) |> split_heads(opts)
    value = x |> dense(p.value_weights, p.value_bias) |> split_heads(opts)

    scores = Nx.dot(query, [3], [0, 1], key, [3], [0, 1]) / Nx.sqrt(Nx.axis_size(query, 3))

    scores
    |> softmax()
    |> Nx.dot([3], [0, 1], value, [2], [0, 1])
    |> Nx.transpose(axes: [0, 2, 1, 3])
    |> Nx.reshape(Nx.shape(x))
    |> dense(p.output_weights, p.output_bias)
  end

  defnp split_heads(x, opts) do
    {batch, length, _} = Nx.shape(x)

    x
    |> Nx.reshape({batch, length, opts[:heads], :auto})
    |> Nx.transpose(axes: [0, 2, 1, 3])
  end

  ## Layers

  defn dense(x, weights, bias), do: Nx.dot(x, weights) + bias

  # Its gradient where x is 0 is 0, as Axon, PyTorch and JAX have it.
  defn relu(x) do
    custom_grad(Nx.max(x, 0), [x], fn gradient -> [Nx.select(x > 0, gradient, 0)] end)
  end

  defnp gelu(x), do: 0.5 * x * (1 + Nx.erf(x / Nx.sqrt(2)))

  defnp convolution(x, kernel, bias) do
    Nx.conv(x, kernel, padding: :same) + Nx.reshape(bias, {1, :auto, 1, 1})
  end

  defnp max_pool(x), do: Nx.window_max(x, {1, 1, 2, 2}, strides: [1, 1, 2, 2])

  defnp softmax(x) do
    exponentials = Nx.exp(x - largest(x))
    exponentials / Nx.sum(exponentials, axes: [-1], keep_axes: true)
  end

  defnp log_softmax(x) do
    shifted = x - largest(x)
    shifted - Nx.log(Nx.sum(Nx.exp(shifted), axes: [-1], keep_axes: true))
  end

  # No gradient goes through it: subtracting it changes no result.
  defnp largest(x), do: stop_grad(Nx.reduce_max(x, axes: [-1], keep_axes: true))

  defnp normalize(x) do
    centered = x - Nx.mean(x, axes: [-1], keep_axes: true)
    variance = Nx.mean(centered * centered, axes: [-1], keep_axes: true)
    centered * Nx.rsqrt(variance + 1.0e-5)
  end

  defnp cross_entropy(logits, labels) do
    -Nx.mean(Nx.take_along_axis(log_softmax(logits), Nx.new_axis(labels, 1), axis: 1))
  end

  ## Optimizers

  defnp sgd(parameters, gradients) do
    zip_with(parameters, gradients, fn parameter, gradient -> parameter - 0.01 * gradient end)
  end

  defnp adam({parameters, means, variances, step}, gradients) do
    step = step + 1
    means = zip_with(means, gradients, fn mean, gradient -> 0.9 * mean + 0.1 * gradient end)

    variances =
      zip_with(variances, gradients, fn variance, gradient ->
        0.999 * variance + 0.001 * gradient * gradient
      end)

    mean_correction = 1 - 0.9 ** step
    variance_correction = 1 - 0.999 ** step

    updates =
      zip_with(means, variances, fn mean, variance ->
        mean / mean_correction / (Nx.sqrt(variance / variance_correction) + 1.0e-8)
      end)

    parameters =
      zip_with(parameters, updates, fn parameter, update -> parameter - 0.001 * update end)

    {parameters, means, variances, step}
  end

  deftransformp zip_with(left, right, fun) do
    {result, []} =
      Composite.traverse(left, Composite.flatten_list([right]), fn tensor, [other | others] ->
        {fun.(tensor, other), others}
      end)

    result
  end
end
