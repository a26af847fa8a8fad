defmodule ExBurn.Conformance.Axis do
  @moduledoc "Functions of the lists of elements along an axis, by the definition."

  alias ExBurn.Conformance.Operand

  @doc "The operand with every list along an axis replaced; all must become of one length."
  def map(%Operand{} = operand, axis, function) do
    {_outer, [size | inner]} = operand.shape |> Tuple.to_list() |> Enum.split(axis)
    inner = Enum.product(inner)

    elements =
      operand.elements
      |> Enum.chunk_every(size * inner)
      |> Enum.flat_map(fn block ->
        block
        |> Enum.chunk_every(inner)
        |> Enum.zip_with(function)
        |> Enum.zip_with(&Function.identity/1)
        |> Enum.concat()
      end)

    length = div(length(elements) * size, length(operand.elements))
    %{operand | elements: elements, shape: put_elem(operand.shape, axis, length)}
  end

  @doc "The operand with an axis of one element dropped."
  def drop(%Operand{} = operand, axis) do
    names = if operand.names, do: List.delete_at(operand.names, axis)
    %{operand | shape: Tuple.delete_at(operand.shape, axis), names: names}
  end
end
