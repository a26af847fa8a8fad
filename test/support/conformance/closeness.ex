defmodule ExBurn.Conformance.Closeness do
  @moduledoc "Whether two tensors are equal but for little."

  use ExBurn.Conformance.Family

  @impl true
  def operations, do: [operation(Nx.Block.AllClose, &all_close/1)]

  # Far apart, near to each other, or equal.
  defp all_close(type) do
    gen all shape <- shape(),
            operand <- operand(type, shape, apart(type)),
            other <- member_of([:same, :one]),
            replacement <- apart(type),
            place <- integer(0..(length(operand.elements) - 1)),
            equal_nan? <- boolean(),
            tolerance <- member_of([[], [atol: 0.5], [rtol: 0.25]]) do
      elements =
        if other == :same,
          do: operand.elements,
          else: List.replace_at(operand.elements, place, replacement)

      options = [equal_nan: equal_nan?] ++ tolerance
      %Case{call: {Nx, :all_close, [operand, %{operand | elements: elements}, options]}}
    end
  end

  # What the difference of two narrow integers wraps to isn't what it wraps to in the reference.
  defp apart({kind, size}) when kind in [:s, :u] and size < 8, do: integer(0..1)
  # To the reference, complex NaNs are equal.
  defp apart({:c, _} = type), do: small(type)
  defp apart(type), do: element(type)
end
