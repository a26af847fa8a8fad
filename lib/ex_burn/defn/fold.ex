defmodule ExBurn.Defn.Fold do
  @moduledoc false
  # `Nx.reduce/4` and `Nx.window_reduce/5`, whose function is the caller's, in terms of what the
  # engine has.
  #
  # The elements are laid out as `{steps, lanes}`: a lane holds, in order, those that one element
  # of the result is folded from. A function that works element by element takes a step of all
  # lanes at once, any other one goes lane by lane.

  import Nx.Defn

  alias ExBurn.Operation
  alias Nx.Defn.{Expr, Tree}
  alias Nx.Tensor, as: T

  @doc """
  An expression with the value of a `:reduce` or `:window_reduce`, and the arguments that its
  parameters stand for.

  Where it needs the caller's function, it has a node `:call` with two arguments and the `:fun`.
  """
  @spec expand(Nx.Tensor.t()) :: {expression :: Nx.Tensor.t(), args :: [Nx.Tensor.t()]}
  def expand(%T{data: %Expr{args: [tensor, acc | _]}} = out) do
    args = [tensor, acc]
    {Nx.Defn.debug_expr_apply(&fold(&1, &2, out), Enum.map(args, &Nx.to_template/1)), args}
  end

  defp fold(tensor, acc, %T{data: %Expr{op: op, args: args}} = out) do
    acc = Nx.as_type(acc, out.type)
    elements = tensor |> Nx.as_type(out.type) |> elements(op, acc, out)
    lanes = Nx.axis_size(elements, 1)
    fun = List.last(args)

    result =
      case lift(fun, {lanes}) do
        {:ok, fun} -> steps(elements, Nx.broadcast(acc, {lanes}), fun: fun)
        :error -> lanes(elements, acc, fun: fun)
      end

    Nx.reshape(result, out.shape)
  end

  ## The elements as {steps, lanes}

  defp elements(tensor, :reduce, _acc, %T{data: %Expr{args: [_, _, options, _]}} = out) do
    axes = options[:axes] || Nx.axes(tensor)
    tensor = Nx.transpose(tensor, axes: Enum.sort(axes) ++ (Nx.axes(tensor) -- axes))
    lanes = Tuple.product(out.shape)
    Nx.reshape(tensor, {div(Nx.size(tensor), lanes), lanes})
  end

  defp elements(tensor, :window_reduce, acc, %T{data: %Expr{args: args}} = out) do
    [_, _, window, options, _] = args
    padded = Nx.pad(tensor, acc, for({low, high} <- options[:padding], do: {low, high, 0}))
    weights = weights(Tuple.to_list(padded.shape))
    within = Enum.zip_with(options[:window_dilations], weights, &*/2)
    between = Enum.zip_with(options[:strides], weights, &*/2)

    indices =
      Nx.add(
        Nx.reshape(positions(window, within), {:auto, 1}),
        Nx.reshape(positions(out.shape, between), {1, :auto})
      )

    Nx.take(Nx.flatten(padded), indices)
  end

  # How far apart neighbours along each axis are, in row-major order.
  defp weights(sizes) do
    for axis <- 1..length(sizes)//1, do: sizes |> Enum.drop(axis) |> Enum.product()
  end

  defp positions(shape, weights) do
    weights
    |> Enum.with_index()
    |> Enum.reduce(Nx.broadcast(0, shape), fn {weight, axis}, sum ->
      Nx.add(sum, Nx.multiply(weight, Nx.iota(shape, axis: axis)))
    end)
  end

  ## The loops

  defnp steps(elements, acc, opts \\ []) do
    {acc, _, _} =
      while {acc, elements, step = 0}, step < Nx.axis_size(elements, 0) do
        {call(elements[step], acc, opts[:fun]), elements, step + 1}
      end

    acc
  end

  defnp lanes(elements, acc, opts \\ []) do
    count = Nx.axis_size(elements, 1)

    {results, _, _, _} =
      while {results = Nx.broadcast(acc, {count}), elements, acc, lane = 0}, lane < count do
        result = steps(elements[[.., lane]], acc, opts)
        {Nx.put_slice(results, [lane], Nx.reshape(result, {1})), elements, acc, lane + 1}
      end

    results
  end

  deftransformp call(element, acc, %T{data: %Expr{args: [_, body, _]}} = fun) do
    data = %{acc.data | id: Expr.id(), op: :call, args: [element, acc, fun]}

    %{body | data: data, vectorized_axes: []}
    |> Nx.as_type(acc.type)
    |> Nx.broadcast(acc.shape)
  end

  ## Functions that work element by element

  # The function on operands of a shape instead of scalars.
  defp lift(%T{data: %Expr{args: [parameters, body, mfa]} = data} = fun, shape) do
    {body, _seen} = lift(body, shape, %{})
    {:ok, %{fun | data: %{data | args: [parameters, body, mfa]}}}
  catch
    :not_elementwise -> :error
  end

  defp lift(%T{data: %Expr{id: id}} = tensor, shape, seen) do
    case seen do
      %{^id => lifted} ->
        {lifted, seen}

      %{} ->
        {lifted, seen} = lift_node(tensor, shape, seen)
        {lifted, Map.put(seen, id, lifted)}
    end
  end

  defp lift_node(%T{data: %Expr{op: :parameter}} = tensor, shape, seen) do
    {shaped(tensor, shape), seen}
  end

  defp lift_node(%T{data: %Expr{op: op}} = tensor, _shape, seen)
       when op in [:constant, :tensor] do
    {tensor, seen}
  end

  defp lift_node(%T{data: %Expr{op: op} = data} = tensor, shape, seen) do
    if op != :metadata and not Operation.elementwise?(op), do: throw(:not_elementwise)

    {args, {shapes, seen}} =
      Tree.apply_args(tensor, {[], seen}, fn arg, {shapes, seen} ->
        {arg, seen} = lift(arg, shape, seen)
        {arg, {[arg.shape | shapes], seen}}
      end)

    tensor = %{tensor | data: %{data | args: args}}
    {if(shape in shapes, do: shaped(tensor, shape), else: tensor), seen}
  end

  defp shaped(tensor, shape) do
    %{tensor | shape: shape, names: List.duplicate(nil, tuple_size(shape))}
  end
end
