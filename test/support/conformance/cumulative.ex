defmodule ExBurn.Conformance.Cumulative do
  @moduledoc "What the elements along an axis come to, up to each of them."

  use ExBurn.Conformance.Family

  alias ExBurn.Conformance.{Axis, Scalar}

  @impl true
  def operations do
    [
      operation(Nx.Block.CumulativeSum, &cases(:cumulative_sum, &1, summand(&1), :add)),
      operation(Nx.Block.CumulativeProduct, &product/1),
      operation(Nx.Block.CumulativeMax, [types: reals()], &extreme(:cumulative_max, &1, :max)),
      operation(Nx.Block.CumulativeMin, [types: reals()], &extreme(:cumulative_min, &1, :min))
    ]
  end

  # The products of the floats are powers of two.
  defp product({:c, _} = type), do: cases(:cumulative_product, type, unit(type), :multiply)

  defp product({kind, _} = type) when kind in [:s, :u],
    do: cases(:cumulative_product, type, element(type), :multiply)

  defp product(float) do
    cases(:cumulative_product, float, member_of([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]), :multiply)
  end

  defp extreme(name, type, function), do: cases(name, type, element(type), function)

  defp cases(name, type, element, function) do
    gen all shape <- shape(1..3),
            operand <- vectorized(named(operand(type, shape, element))),
            axis <- member_of(Nx.axes(shape)),
            reverse? <- boolean() do
      %Case{
        call: {Nx, name, [operand, [axis: axis, reverse: reverse?]]},
        expected: fn ->
          operand |> Axis.map(axis, &scan(&1, function, reverse?)) |> Operand.reference()
        end
      }
    end
  end

  defp scan(elements, function, true) do
    elements |> Enum.reverse() |> scan(function, false) |> Enum.reverse()
  end

  defp scan(elements, function, false) do
    Enum.scan(elements, &apply(Scalar, function, [&2, &1]))
  end
end
