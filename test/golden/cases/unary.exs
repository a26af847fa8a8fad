import Golden

# Where each function is defined, in values that no type rounds to something else.
anywhere = [-2.5, -1.0, -0.5, 0.0, 0.25, 1.0, 2.75]
positive = [0.125, 0.5, 1.0, 2.5, 10.0, 200.0]
within_one = [-1.0, -0.75, -0.125, 0.0, 0.5, 0.875, 1.0]
inside_one = [-0.75, -0.125, 0.0, 0.5, 0.875]

domains = [
  exp: anywhere,
  expm1: anywhere,
  log: positive,
  log1p: [-0.75, -0.125, 0.0, 0.5, 3.0, 100.0],
  sigmoid: anywhere,
  sin: anywhere,
  cos: anywhere,
  tan: anywhere,
  asin: within_one,
  acos: within_one,
  atan: anywhere,
  sinh: anywhere,
  cosh: anywhere,
  tanh: anywhere,
  asinh: anywhere,
  acosh: [1.0, 1.5, 3.0, 40.0],
  atanh: inside_one,
  sqrt: [0.0 | positive],
  rsqrt: positive,
  cbrt: [-27.0, -0.125, 0.0, 0.5, 8.0],
  erf: anywhere,
  erfc: anywhere,
  erf_inv: inside_one
]

nan = [:nan]
infinite = [:nan, :infinity, :neg_infinity]

# `Nx.BinaryBackend` raises for other functions, or is wrong: NaN for tanh of infinity.
non_finite = [
  exp: infinite,
  expm1: infinite,
  log: [:nan, :infinity],
  log1p: [:nan, :infinity],
  sigmoid: infinite,
  sin: infinite,
  cos: infinite,
  tan: infinite,
  asin: infinite,
  acos: infinite,
  atan: infinite,
  sinh: infinite,
  cosh: infinite,
  tanh: nan,
  asinh: infinite,
  acosh: [:nan, :infinity],
  sqrt: infinite,
  rsqrt: infinite,
  cbrt: infinite,
  erf: infinite,
  erfc: infinite,
  erf_inv: infinite,
  abs: infinite,
  negate: infinite,
  is_nan: [1.0 | infinite],
  is_infinity: [1.0 | infinite]
]

# The inverse of the error function is right to 8 digits only in `Nx.BinaryBackend`.
tolerance = fn
  :erf_inv, :f64 -> [tolerance: 1.0e-7]
  _name, _type -> []
end

functions =
  for {name, domain} <- domains, type <- floats() do
    operand = tensor(domain, type)
    golden({:unary, name}, [operand], &apply(Nx, name, [&1]), tolerance.(name, type))
  end

of_integers =
  for {name, domain} <- domains, type <- [:s16] do
    domain = for value <- domain, value == trunc(value) and value >= 0, do: trunc(value)
    golden({:unary, name}, [tensor(domain, type)], &apply(Nx, name, [&1]))
  end

kept_floats =
  for name <- [:abs, :negate, :sign, :ceil, :floor, :round], type <- floats() do
    halves = tensor([[-2.5, -1.5, -0.5, -0.25], [0.25, 0.5, 1.5, 2.5]], type)
    golden({:unary, name}, [halves], &apply(Nx, name, [&1]))
  end

kept_integers =
  for name <- [:abs, :negate, :sign, :ceil, :floor, :round], type <- integers() do
    golden({:unary, name}, [sample({2, 4}, type)], &apply(Nx, name, [&1]))
  end

bits =
  for name <- [:bitwise_not, :count_leading_zeros, :population_count], type <- integers() do
    limits = [Nx.Constants.min(type), Nx.Constants.max(type), sample({5}, type)]
    operand = limits |> Enum.map(&Nx.flatten/1) |> Nx.concatenate()
    golden({:unary, name}, [operand], &apply(Nx, name, [&1]))
  end

tests =
  for name <- [:is_nan, :is_infinity], type <- types() do
    golden({:unary, name}, [sample({3}, type)], &apply(Nx, name, [&1]))
  end

special =
  for {name, values} <- non_finite, type <- [:f16, :f32, :f64] do
    golden({:unary, name}, [tensor(values, type)], &apply(Nx, name, [&1]))
  end

scalars = [
  golden({:unary, :exp}, [tensor(0.5, :f64)], &Nx.exp/1),
  golden({:unary, :abs}, [tensor(-3, :s16)], &Nx.abs/1)
]

functions ++ of_integers ++ kept_floats ++ kept_integers ++ bits ++ tests ++ special ++ scalars
