defmodule ExBurn.Conformance.Order do
  @moduledoc "The elements along an axis by their size: NaN the greatest, equal ones as they stood."

  use ExBurn.Conformance.Family

  alias ExBurn.Conformance.{Axis, Scalar}

  @impl true
  def operations do
    [
      operation(:sort, [types: reals()], &sort/1),
      operation(:argsort, [types: reals()], &argsort/1),
      operation(Nx.Block.TopK, [types: reals()], &top_k/1)
    ]
  end

  defp sort(type), do: cases(:sort, type, &Function.identity/1, &value/1)
  defp argsort(type), do: cases(:argsort, type, &positions/1, &place/1)

  defp cases(name, type, out, part) do
    gen all {operand, axis} <- operand_and_axis(type), direction <- member_of([:asc, :desc]) do
      %Case{
        call: {Nx, name, [operand, [axis: axis, direction: direction]]},
        expected: fn ->
          operand
          |> out.()
          |> Axis.map(axis, &Enum.map(in_order(&1, direction), part))
          |> Operand.reference()
        end
      }
    end
  end

  defp top_k(type) do
    gen all {operand, _axis} <- operand_and_axis(type),
            last = tuple_size(operand.shape) - 1,
            k <- integer(1..elem(operand.shape, last)) do
      best = fn out, part ->
        out
        |> Axis.map(last, &(&1 |> in_order(:desc) |> Enum.take(k) |> Enum.map(part)))
        |> Operand.reference()
      end

      %Case{
        call: {Nx, :top_k, [operand, [k: k]]},
        expected: fn -> {best.(operand, &value/1), best.(positions(operand), &place/1)} end
      }
    end
  end

  defp positions(operand), do: %{operand | type: {:s, 32}}
  defp value({element, _place}), do: element
  defp place({_element, place}), do: place

  # Of few different elements some tie.
  defp operand_and_axis(type) do
    gen all shape <- shape(1..3),
            element <- member_of([element(type), unit(type)]),
            operand <- named(operand(type, shape, element)),
            axis <- member_of(Nx.axes(shape)) do
      {operand, axis}
    end
  end

  defp in_order(elements, direction) do
    ordered? =
      case direction do
        :asc -> fn {x, _}, {y, _} -> not before?(y, x) end
        :desc -> fn {x, _}, {y, _} -> not before?(x, y) end
      end

    elements |> Enum.with_index() |> Enum.sort(ordered?)
  end

  defp before?(x, y), do: (y == :nan and x != :nan) or Scalar.less(x, y) == 1
end
