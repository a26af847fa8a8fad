defmodule ExBurn.Conformance.Binary do
  @moduledoc "Arithmetic of two tensors that broadcast, element by element."

  use ExBurn.Conformance.Family

  import ExBurn.Conformance.Elementwise

  alias ExBurn.Conformance.Scalar

  @tolerance [tolerance: "complex: 4 ulps"]

  @impl true
  def operations do
    [
      operation(:add, &exact_cases(:add, &1, types())),
      operation(:subtract, &exact_cases(:subtract, &1, types())),
      operation(:multiply, @tolerance, &cases(:multiply, &1, types(), {factor(), factor()})),
      operation(:divide, @tolerance, &divide/1),
      operation(:remainder, [types: reals()], &remainder/1),
      operation(:quotient, [types: integers()], fn type ->
        cases(:quotient, type, integers(), {&element/1, &divisor/1})
      end),
      operation(:max, [types: reals()], &exact_cases(:max, &1, reals())),
      operation(:min, [types: reals()], &exact_cases(:min, &1, reals())),
      operation(:pow, [tolerance: "2 ulps, c128: 64 ulps"], &pow/1),
      operation(:atan2, [types: reals(), refused: [], tolerance: "2 ulps"], &atan2/1)
    ]
  end

  defp exact_cases(name, type, others), do: cases(name, type, others, {&element/1, &element/1})

  # What complex numbers overflow to is no rule of Nx.
  defp factor do
    fn
      {:c, _} = type -> small(type)
      type -> element(type)
    end
  end

  defp cases(name, type, others, elements) do
    gen all [left, right] = operands <- pair(type, others, elements) do
      out = Nx.Type.merge(left.type, right.type)
      test(name, operands, out, &apply(Scalar, name, [&1, &2]), ulps: ulps(out))
    end
  end

  defp ulps({:c, _}), do: 4
  defp ulps(_real), do: 0

  defp divide(type) do
    divisor = fn
      {:c, _} = type -> nonzero(type)
      type -> element(type)
    end

    gen all [left, right] = operands <- pair(type, types(), {factor(), divisor}) do
      out = floating(Nx.Type.merge(left.type, right.type))
      # Integers become floats before they are divided.
      function = &Scalar.divide(Number.round_to(&1, out), Number.round_to(&2, out))
      test(:divide, operands, out, function, ulps: ulps(out))
    end
  end

  defp floating({kind, _}) when kind in [:s, :u], do: {:f, 32}
  defp floating(float), do: float

  # Of integers, Nx has no remainder or quotient by zero.
  defp divisor({kind, _} = type) when kind in [:s, :u], do: filter(element(type), &(&1 != 0))
  defp divisor(float), do: element(float)

  defp remainder(type), do: cases(:remainder, type, reals(), {&element/1, &divisor/1})

  defp pow({kind, _} = type) when kind in [:s, :u] do
    gen all operands <- pair(type, {&element/1, fn _ -> integer(0..exponent(type)) end}) do
      test(:pow, operands, type, &Integer.pow/2)
    end
  end

  defp pow({:c, _} = type) do
    part = &between(&1, 0.125, 2)

    gen all operands <- pair(type, {part, part}) do
      %Case{call: {Nx, :pow, operands}, ulps: if(type == {:c, 64}, do: 2, else: 64), scale: 1.0}
    end
  end

  defp pow(type) do
    ordinary =
      gen all operands <- pair(type, {&between(&1, 0.125, 3), &between(&1, -3, 3)}) do
        %Case{call: {Nx, :pow, operands}, ulps: 2}
      end

    frequency([{4, ordinary}, {1, limits(:pow, type, pow_limits())}])
  end

  defp exponent({_, size}), do: min(70, Integer.pow(2, size - 1) - 1)

  # As IEEE 754 has them.
  defp pow_limits do
    [
      {-8.0, 0.25, :nan},
      {-2.0, 3.0, -8.0},
      {0.0, -1.0, :infinity},
      {0.0, 2.0, 0.0},
      {:nan, 0.0, 1.0},
      {1.0, :nan, 1.0},
      {2.0, :infinity, :infinity},
      {0.5, :infinity, 0.0},
      {:neg_infinity, 3.0, :neg_infinity},
      {:infinity, -1.0, 0.0}
    ]
  end

  defp atan2({kind, _} = type) when kind in [:s, :u] do
    gen all operands <- pair(type, reals(), {&small/1, &small/1}) do
      %Case{call: {Nx, :atan2, operands}, ulps: 2}
    end
  end

  defp atan2(type) do
    ordinary =
      gen all operands <- pair(type, reals(), {&small/1, &small/1}) do
        %Case{call: {Nx, :atan2, operands}, ulps: 2}
      end

    pi = :math.pi()

    limits = [
      {0.0, -1.0, pi},
      {-0.0, -1.0, -pi},
      {0.0, 1.0, 0.0},
      {1.0, :infinity, 0.0},
      {1.0, :neg_infinity, pi},
      {:infinity, 1.0, pi / 2},
      {:infinity, :neg_infinity, 3 * pi / 4},
      {:nan, 1.0, :nan}
    ]

    frequency([{4, ordinary}, {1, limits(:atan2, type, limits)}])
  end

  defp limits(name, type, limits) do
    known = fn x -> Number.round_to(x, type) == x end
    limits = for {x, y, value} <- limits, known.(x) and known.(y), do: {x, y, value}

    gen all rows <- list_of(member_of(limits), length: 7),
            operand <- operand(type, {7}, constant(0.0)) do
      operands = for at <- 0..1, do: %{operand | elements: Enum.map(rows, &elem(&1, at))}
      %Case{call: {Nx, name, operands}, expected: fn -> Enum.map(rows, &elem(&1, 2)) end, ulps: 1}
    end
  end
end
