defmodule ExBurn.Conformance.Mathematical do
  @moduledoc """
  Transcendental functions of one tensor.

  `Nx.BinaryBackend` is the reference within a function's domain; it raises outside of it, where
  IEEE 754 has the results. How near they are to the true ones everywhere is measured by
  `make accuracy`.
  """

  use ExBurn.Conformance.Family

  # Of each function: where real numbers are from, where both parts of complex numbers are from, and
  # the values at the ends and beyond.
  @functions [
    exp: {{-80, 80}, {-4, 4}, infinity: :infinity, neg_infinity: 0.0},
    expm1: {{-9, 9}, {-4, 4}, infinity: :infinity, neg_infinity: -1.0},
    log: {{0.0078125, 1.0e4}, {-4, 4}, infinity: :infinity, zero: :neg_infinity, minus_one: :nan},
    log1p:
      {{-0.875, 1.0e4}, {-0.5, 4}, infinity: :infinity, minus_one: :neg_infinity, minus_two: :nan},
    sigmoid: {{-80, 80}, {-2, 2}, infinity: 1.0, neg_infinity: 0.0},
    cos: {{-1.0e3, 1.0e3}, {-4, 4}, infinity: :nan, neg_infinity: :nan},
    sin: {{-1.0e3, 1.0e3}, {-4, 4}, infinity: :nan, neg_infinity: :nan},
    tan: {{-1.0e3, 1.0e3}, {-1, 1}, infinity: :nan, neg_infinity: :nan},
    cosh: {{-80, 80}, {-4, 4}, infinity: :infinity, neg_infinity: :infinity},
    sinh: {{-80, 80}, {-4, 4}, infinity: :infinity, neg_infinity: :neg_infinity},
    tanh: {{-20, 20}, {-1, 1}, infinity: 1.0, neg_infinity: -1.0},
    acos: {{-1, 1}, {0.125, 2}, two: :nan, minus_two: :nan, infinity: :nan},
    asin: {{-1, 1}, {0.125, 2}, two: :nan, minus_two: :nan, infinity: :nan},
    atan:
      {{-1.0e3, 1.0e3}, {0.125, 0.75}, infinity: :math.pi() / 2, neg_infinity: -:math.pi() / 2},
    acosh: {{1, 1.0e4}, {0.125, 2}, zero: :nan, infinity: :infinity, neg_infinity: :nan},
    asinh: {{-1.0e4, 1.0e4}, {0.125, 2}, infinity: :infinity, neg_infinity: :neg_infinity},
    atanh: {{-0.875, 0.875}, {0.125, 0.75}, one: :infinity, minus_one: :neg_infinity, two: :nan},
    sqrt: {{0, 1.0e4}, {0.125, 4}, infinity: :infinity, minus_one: :nan, neg_infinity: :nan},
    rsqrt: {{0.0078125, 1.0e4}, {0.125, 4}, zero: :infinity, infinity: 0.0, minus_one: :nan},
    cbrt: {{-1.0e4, 1.0e4}, {0.125, 4}, infinity: :infinity, neg_infinity: :neg_infinity},
    erf: {{-4, 4}, nil, infinity: 1.0, neg_infinity: -1.0},
    erfc: {{-4, 4}, nil, infinity: 0.0, neg_infinity: 2.0},
    erf_inv: {{-0.875, 0.875}, nil, one: :infinity, minus_one: :neg_infinity, two: :nan}
  ]

  @arguments %{
    infinity: :infinity,
    neg_infinity: :neg_infinity,
    zero: 0.0,
    one: 1.0,
    two: 2.0,
    minus_one: -1.0,
    minus_two: -2.0
  }

  @impl true
  def operations do
    for {name, {domain, complex, limits}} <- @functions do
      types = if complex, do: types(), else: reals()

      operation(name, [types: types, tolerance: tolerance(name)], fn
        {:c, _} = type -> of_complex(name, type, complex || {0, 1})
        {kind, _} = type when kind in [:s, :u] -> of_reals(name, type, domain)
        type -> frequency([{4, of_reals(name, type, domain)}, {1, of_limits(name, type, limits)}])
      end)
    end
  end

  defp tolerance(:erf_inv), do: "3 ulps"
  defp tolerance(_name), do: "2 ulps, c128: 64 ulps"

  defp of_reals(name, type, {low, high}) do
    gen all shape <- shape(),
            operand <- named(operand(type, shape, between(type, low, high))) do
      test = %Case{call: {Nx, name, [operand]}, ulps: 2, scale: least_magnitude(name, type)}

      if name == :erf_inv,
        do: %{test | expected: fn -> erf_inv(operand) end, ulps: 3},
        else: test
    end
  end

  # The reference subtracts 1, or adds it, and loses the digits below.
  defp least_magnitude(name, {:f, 64}) when name in [:expm1, :log1p, :atanh, :asinh], do: 1.0
  defp least_magnitude(_name, _type), do: 0

  # The streams of `Nx.Random` are made of the reference's own polynomial, which is so near in `f32`.
  # In `f64` it has 8 digits; a step of Newton's method doubles them.
  defp erf_inv(operand) do
    x = Operand.reference(operand)

    Enum.reduce(1..2, Nx.as_type(Nx.erf_inv(x), :f64), fn _, y ->
      slope = Nx.multiply(2 / :math.sqrt(:math.pi()), Nx.exp(Nx.negate(Nx.multiply(y, y))))
      Nx.subtract(y, Nx.divide(Nx.subtract(Nx.erf(y), x), slope))
    end)
  end

  defp of_complex(name, type, {low, high}) do
    gen all shape <- shape(),
            operand <- named(operand(type, shape, between(type, low, high))) do
      %Case{call: {Nx, name, [operand]}, ulps: complex_ulps(type), scale: 1.0}
    end
  end

  # In `c128`, most of them are the reference's own.
  defp complex_ulps({:c, 64}), do: 2
  defp complex_ulps({:c, 128}), do: 64

  defp of_limits(name, type, limits) do
    pairs =
      for {argument, value} <- [{:nan, :nan} | limits],
          argument = Map.get(@arguments, argument, argument),
          Number.round_to(argument, type) == argument,
          do: {argument, value}

    gen all pairs <- list_of(member_of(pairs), length: 9),
            operand <- operand(type, {9}, constant(0.0)) do
      {arguments, values} = Enum.unzip(pairs)
      operand = %{operand | elements: arguments}
      %Case{call: {Nx, name, [operand]}, expected: fn -> values end, ulps: 1}
    end
  end
end
