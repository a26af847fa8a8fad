defmodule ExBurn.Bench.Workloads do
  @moduledoc false
  # The workloads by name. A training step takes the state first and returns `{loss, state}`.

  alias ExBurn.Bench.Functions

  # `inner`: how many calls are timed together, where one takes microseconds.
  @enforce_keys [:name, :title, :limit]
  defstruct [:name, :title, :limit, inner: 1, training?: false]

  @workloads [
    %{name: "W1", title: "call overhead: x + 1", limit: 1.3, inner: 200},
    %{name: "W2", title: "matrix product", limit: 1.3},
    %{name: "W3", title: "element-wise chain, summed", limit: 1.0},
    %{name: "W4", title: "softmax, layer norm", limit: 1.0},
    %{name: "W5", title: "small MLP, Adam step", limit: 1.0, inner: 10, training?: true},
    %{name: "W6", title: "large MLP, SGD step", limit: 1.15, training?: true},
    %{name: "W7", title: "CNN, Adam step", limit: 1.15, training?: true},
    %{name: "W8", title: "transformer block, SGD step", limit: 1.15, training?: true},
    %{name: "W9", title: "LSTM, forward", limit: 1.15},
    %{name: "W10", title: "MLP inference, batch 1", limit: 1.0, inner: 50}
  ]

  def all, do: Enum.map(@workloads, &struct!(__MODULE__, &1))

  @doc "The sizes of a workload: `:tiny` for tests, `:small` for the CPU, `:big` for a GPU."
  def sizes(name, scale), do: name |> sizes() |> Map.fetch!(scale)

  defp sizes("W1"), do: same([4])
  defp sizes("W2"), do: %{tiny: [6], small: [1024], big: [8192]}
  defp sizes("W3"), do: %{tiny: [64], small: [2 ** 20], big: [2 ** 26]}
  defp sizes("W4"), do: %{tiny: [4, 6], small: [1024, 1024], big: [8192, 4096]}

  # Batch, then the width of each layer.
  defp sizes("W5"), do: %{same([32, 64, 32, 10]) | tiny: [4, 6, 5, 3]}

  defp sizes("W6") do
    %{tiny: [4, 6, 5, 5, 3], small: [128, 784, 512, 512, 10], big: [4096, 784, 4096, 4096, 10]}
  end

  # Batch, side of the image, channels of the convolutions, classes.
  defp sizes("W7") do
    %{tiny: [2, 8, 2, 3, 3], small: [64, 28, 32, 64, 10], big: [1024, 28, 32, 64, 10]}
  end

  # Batch, length, width, heads.
  defp sizes("W8"), do: %{tiny: [2, 4, 8, 2], small: [8, 128, 256, 4], big: [16, 512, 1024, 16]}

  # Batch, steps, width of the input, width of the hidden state.
  defp sizes("W9"), do: %{same([32, 64, 64, 128]) | tiny: [2, 4, 3, 5]}
  defp sizes("W10"), do: %{same([1, 784, 512, 512, 10]) | tiny: [1, 6, 5, 5, 3]}

  defp same(sizes), do: %{tiny: sizes, small: sizes, big: sizes}

  @doc "The function of a workload and its arguments, on the default backend."
  def build(name, sizes) do
    :rand.seed(:exsss, 0)
    function(name, sizes)
  end

  defp function("W1", [size]), do: {&Functions.add_one/1, [uniform({size})]}

  defp function("W2", [size]) do
    {&Functions.product/2, [uniform({size, size}), uniform({size, size})]}
  end

  defp function("W3", [size]), do: {&Functions.chain/1, [uniform({size})]}

  defp function("W4", [rows, columns]) do
    {&Functions.normalized_softmax/1, [uniform({rows, columns})]}
  end

  defp function("W5", [batch | widths]) do
    state = widths |> perceptron() |> adam_state()
    arguments = [state, uniform({batch, hd(widths)}), labels(batch, List.last(widths))]
    {&Functions.perceptron_adam/3, arguments}
  end

  defp function("W6", [batch | widths]) do
    arguments = [
      perceptron(widths),
      uniform({batch, hd(widths)}),
      labels(batch, List.last(widths))
    ]

    {&Functions.perceptron_sgd/3, arguments}
  end

  defp function("W7", [batch, side, channels_1, channels_2, classes]) do
    features = channels_2 * div(side, 4) ** 2

    state =
      adam_state(%{
        kernel_1: uniform({channels_1, 1, 3, 3}, 0.0, 0.1),
        bias_1: zeros({channels_1}),
        kernel_2: uniform({channels_2, channels_1, 3, 3}, 0.0, 0.1),
        bias_2: zeros({channels_2}),
        weights: uniform({features, classes}, 0.0, 0.01),
        bias: zeros({classes})
      })

    arguments = [state, uniform({batch, 1, side, side}), labels(batch, classes)]
    {&Functions.convolutional_adam/3, arguments}
  end

  defp function("W8", [batch, length, width, heads]) do
    parameters = %{
      query_weights: uniform({width, width}, 0.0, 0.05),
      query_bias: zeros({width}),
      key_weights: uniform({width, width}, 0.0, 0.05),
      key_bias: zeros({width}),
      value_weights: uniform({width, width}, 0.0, 0.05),
      value_bias: zeros({width}),
      output_weights: uniform({width, width}, 0.0, 0.05),
      output_bias: zeros({width}),
      attention_scale: ones({width}),
      attention_shift: zeros({width}),
      up_weights: uniform({width, 4 * width}, 0.0, 0.05),
      up_bias: zeros({4 * width}),
      down_weights: uniform({4 * width, width}, 0.0, 0.05),
      down_bias: zeros({width}),
      forward_scale: ones({width}),
      forward_shift: zeros({width})
    }

    step = &Functions.transformer_sgd(&1, &2, heads: heads)
    {step, [parameters, uniform({batch, length, width})]}
  end

  defp function("W9", [batch, steps, width, hidden]) do
    arguments = [
      uniform({batch, steps, width}),
      uniform({width, 4 * hidden}, 0.0, 0.1),
      uniform({hidden, 4 * hidden}, 0.0, 0.1),
      zeros({4 * hidden})
    ]

    {&Functions.lstm/4, arguments}
  end

  defp function("W10", [batch | widths]) do
    {&Functions.perceptron/2, [perceptron(widths), uniform({batch, hd(widths)})]}
  end

  defp perceptron(widths) do
    widths
    |> Enum.chunk_every(2, 1, :discard)
    |> Enum.flat_map(fn [rows, columns] ->
      [uniform({rows, columns}, -0.05, 0.05), zeros({columns})]
    end)
    |> List.to_tuple()
  end

  # The parameters, the running means of their gradients and of the squares, and the step.
  defp adam_state(parameters) do
    zeros = Nx.Defn.Composite.traverse(parameters, &zeros(Nx.shape(&1)))
    {parameters, zeros, zeros, Nx.tensor(0.0)}
  end

  defp labels(count, classes), do: Nx.remainder(Nx.iota({count}), classes)

  defp uniform(shape, low \\ 0.0, high \\ 1.0) do
    key = Nx.Random.key(:rand.uniform(2 ** 31))
    {tensor, _key} = Nx.Random.uniform(key, low, high, shape: shape)
    tensor
  end

  defp zeros(shape), do: Nx.broadcast(0.0, shape)
  defp ones(shape), do: Nx.broadcast(1.0, shape)
end
