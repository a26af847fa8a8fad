defmodule ExBurn.Conformance.Elementwise do
  @moduledoc "Cases of functions of several tensors that broadcast to each other."

  import ExBurn.Conformance.Generate
  import ExUnitProperties, only: [gen: 2]
  import StreamData

  alias ExBurn.Conformance.{Case, Operand}

  @doc """
  Two operands of which one broadcasts to the other, the first of a type.

  The second may be of one of `others`; then the elements are such that both types have them: what
  is rounded when two types meet isn't the subject.
  """
  def pair(type, others, elements) do
    mixed =
      gen all other <- member_of(others),
              {left, right} <- shapes(),
              left <- operand(type, left, exact(type)),
              right <- operand(other, right, exact_positive(other)) do
        [left, right]
      end

    frequency([{3, pair(type, elements)}, {1, mixed}])
  end

  @doc "Two operands of a type of which one broadcasts to the other."
  def pair(type, {left_element, right_element}) do
    gen all {left, right} <- shapes(),
            left <- named(operand(type, left, left_element.(type))),
            right <- operand(type, right, right_element.(type)) do
      [left, right]
    end
  end

  @doc "The case of a function of a pair, given what it is of two elements."
  def test(name, [left, right] = operands, out, function, options \\ []) do
    expected = fn -> expected(left, right, out, function) end
    struct!(%Case{call: {Nx, name, operands}, expected: expected}, options)
  end

  defp expected(left, right, out, function) do
    shape = broadcast_shape(left.shape, right.shape)
    elements = Enum.zip_with(broadcast(left, shape), broadcast(right, shape), function)

    Operand.reference(%{
      left
      | type: out,
        shape: shape,
        elements: elements,
        names: names(left, shape)
    })
  end

  # Names count from the last axis, as the sizes do.
  defp names(%{names: nil}, _shape), do: nil

  defp names(%{names: names}, shape) do
    List.duplicate(nil, tuple_size(shape) - length(names)) ++ names
  end

  defp broadcast_shape(left, right) do
    if {tuple_size(left), Tuple.product(left)} > {tuple_size(right), Tuple.product(right)},
      do: left,
      else: right
  end

  # The element of each place of the wider shape.
  defp broadcast(operand, shape) do
    elements = List.to_tuple(operand.elements)

    operand.shape
    |> Nx.iota(backend: Nx.BinaryBackend)
    |> Nx.broadcast(shape)
    |> Nx.to_flat_list()
    |> Enum.map(&elem(elements, &1))
  end

  @doc "Two shapes of which one broadcasts to the other."
  def shapes do
    gen all wide <- shape(),
            narrow <- narrower(wide),
            pair <- member_of([{wide, narrow}, {narrow, wide}]) do
      pair
    end
  end

  @doc "A shape that broadcasts to the given one."
  def narrower(shape) do
    rank = tuple_size(shape)

    gen all kept <- list_of(boolean(), length: rank), dropped <- integer(0..rank) do
      shape
      |> Tuple.to_list()
      |> Enum.zip_with(kept, fn size, kept? -> if kept?, do: size, else: 1 end)
      |> Enum.drop(dropped)
      |> List.to_tuple()
    end
  end
end
