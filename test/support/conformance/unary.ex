defmodule ExBurn.Conformance.Unary do
  @moduledoc "Exact functions of one tensor, element by element: each against `ExBurn.Conformance.Scalar`."

  use ExBurn.Conformance.Family

  alias ExBurn.Conformance.Scalar

  @impl true
  def operations do
    [
      operation(:abs, [tolerance: "complex: 4 ulps"], &cases(:abs, &1, real(&1), 4)),
      operation(:negate, &cases(:negate, &1, &1, 0)),
      operation(:sign, [tolerance: "complex: 4 ulps"], &cases(:sign, &1, &1, 4)),
      operation(:ceil, [types: reals()], &cases(:ceil, &1, &1, 0)),
      operation(:floor, [types: reals()], &cases(:floor, &1, &1, 0)),
      operation(:round, [types: reals()], &cases(:round, &1, &1, 0)),
      operation(:conjugate, &cases(:conjugate, &1, complex(&1), 0)),
      operation(:real, &cases(:real, &1, float_part(&1), 0)),
      operation(:imag, &cases(:imag, &1, float_part(&1), 0)),
      operation(:is_nan, &cases(:is_nan, &1, {:u, 8}, 0)),
      operation(:is_infinity, &cases(:is_infinity, &1, {:u, 8}, 0)),
      operation(Nx.Block.LogicalNot, &cases(:logical_not, &1, {:u, 8}, 0)),
      operation(Nx.Block.Phase, [tolerance: "2 ulps"], &phase/1),
      operation(:bitwise_not, [types: integers()], &cases(:bitwise_not, &1, &1, 0)),
      operation(:population_count, [types: integers()], &bits(:population_count, &1)),
      operation(:count_leading_zeros, [types: integers()], &bits(:count_leading_zeros, &1))
    ]
  end

  # The types of results, as Nx has them.
  defp real(type), do: Number.part(type)

  defp float_part({kind, _}) when kind in [:s, :u], do: {:f, 32}
  defp float_part(type), do: Number.part(type)

  defp complex({:c, _} = type), do: type
  defp complex({:f, 64}), do: {:c, 128}
  defp complex(_real), do: {:c, 64}

  defp cases(name, type, out, ulps) do
    each(name, type, out, element(name, type), &apply(Scalar, name, [&1]), ulps)
  end

  # Which direction an infinite complex number has is no rule of Nx.
  defp element(:sign, {:c, _} = type), do: filter(element(type), &finite?/1)
  defp element(_name, type), do: element(type)

  defp finite?({re, im}), do: is_number(re) and is_number(im)

  defp each(name, type, out, element, function, ulps) do
    gen all shape <- shape(), operand <- named(operand(type, shape, element)) do
      expected = fn ->
        Operand.reference(%{operand | type: out, elements: Enum.map(operand.elements, function)})
      end

      ulps = if elem(type, 0) == :c, do: ulps, else: 0

      %Case{
        call: {Nx, name, [operand]},
        expected: expected,
        ulps: ulps
      }
    end
  end

  defp bits(name, {_, size} = type) do
    each(name, type, type, element(type), &apply(Scalar, name, [&1, size]), 0)
  end

  # `Nx.BinaryBackend` has this one of all numbers that aren't zeros, of which the signs differ.
  defp phase(type) do
    gen all shape <- shape(), operand <- named(operand(type, shape, nonzero(type))) do
      %Case{call: {Nx, :phase, [operand]}, ulps: 2}
    end
  end
end
