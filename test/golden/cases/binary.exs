import Golden

# Every type, and for some of them shapes that are equal, that stretch on either side, and a scalar.
shapes = [{{2, 3}, {2, 3}}, {{2, 1, 3}, {2, 1}}, {{}, {3}}]
stretched = [{{2, 1}, {3}}]

typed_shapes =
  for type <- types(),
      {left, right} <- if(type in [:s32, :f32], do: shapes, else: stretched),
      do: {type, left, right}

apply_to = fn name -> &apply(Nx, name, [&1, &2]) end
case_of = fn name, left, right -> golden({:binary, name}, [left, right], apply_to.(name)) end

# `Nx.BinaryBackend` raises where an element of the right operand is zero.
nonzero = fn tensor -> Nx.select(Nx.equal(tensor, 0), Nx.tensor(3, type: tensor.type), tensor) end

arithmetic =
  for name <- [:add, :subtract, :multiply, :max, :min], {type, left, right} <- typed_shapes do
    case_of.(name, sample(left, type), sample(right, type, 5))
  end

remainders =
  for {type, left, right} <- typed_shapes do
    case_of.(:remainder, sample(left, type), nonzero.(sample(right, type, 5)))
  end

quotients =
  for {type, left, right} <- typed_shapes, type in integers() do
    case_of.(:quotient, sample(left, type), nonzero.(sample(right, type, 5)))
  end

divisions =
  for type <- types() do
    case_of.(:divide, sample({2, 3}, type), nonzero.(sample({3}, type, 5)))
  end

angles =
  for type <- types() do
    case_of.(:atan2, sample({13, 1}, type), sample({3}, type, 5))
  end

powers =
  for type <- integers() do
    case_of.(:pow, sample({7}, type), tensor([0, 1, 2, 3, 4, 5, 9], type))
  end ++
    for type <- floats() do
      case_of.(:pow, tensor([0.25, 0.5, 1.0, 2.0, 4.0], type), sample({3, 5}, type, 2))
    end ++
    [
      case_of.(:pow, tensor([3, 3, 2, -3], :s64), tensor([39, 41, 64, 3], :s64)),
      case_of.(:pow, tensor([-2.0, -0.5, 3.0], :f32), tensor([3, 2, 4], :u8))
    ]

bitwise =
  for name <- [:bitwise_and, :bitwise_or, :bitwise_xor], type <- integers() do
    case_of.(name, sample({5}, type), sample({5}, type, 4))
  end

# Amounts of the width and more empty the value.
shifts =
  for name <- [:left_shift, :right_shift], type <- integers() do
    case_of.(name, sample({2, 1, 6}, type), tensor([[0], [1], [3], [7]], type))
  end ++
    for name <- [:left_shift, :right_shift], type <- [:s32, :s64, :u32] do
      case_of.(name, sample({6}, type), tensor([31, 32, 33, 40, 63, 64], type))
    end

comparisons =
  for name <- [:equal, :not_equal, :greater, :greater_equal, :less, :less_equal],
      {type, left, right} <- typed_shapes do
    case_of.(name, sample(left, type), sample(right, type, 5))
  end

logical =
  for name <- [:logical_and, :logical_or, :logical_xor], type <- types() do
    case_of.(name, tensor([[0], [2]], type), tensor([0, 1, 3], type))
  end

# Two types meet in the one that Nx computes in.
pairs = [{:u8, :s8}, {:u32, :s16}, {:s64, :f16}, {:bf16, :f32}, {:u64, :f64}, {:u8, :u16}]

mixed =
  for name <- [:add, :multiply, :max, :less, :logical_and],
      {left, right} <- pairs do
    case_of.(name, sample({2, 3}, left), sample({3}, right, 5))
  end

# Integers wrap.
wrapping =
  for name <- [:add, :subtract, :multiply], type <- integers() do
    extremes = Nx.stack([Nx.Constants.min(type), Nx.Constants.max(type)])
    case_of.(name, extremes, tensor([[1], [2], [3]], type))
  end

special = tensor([:nan, :infinity, :neg_infinity, 1.0], :f32)

# `Nx.BinaryBackend` raises, or answers otherwise than IEEE-754, for the other functions.
non_finite =
  for name <- [:add, :subtract, :multiply, :max, :min] do
    case_of.(name, Nx.reshape(special, {4, 1}), special)
  end ++
    for name <- [:equal, :not_equal, :greater, :greater_equal, :less, :less_equal] do
      case_of.(name, Nx.reshape(special, {4, 1}), special)
    end

# Neighbours that an `f64` doesn't tell apart.
large = [
  case_of.(
    :less,
    tensor([9_007_199_254_740_992, -1], :s64),
    tensor([9_007_199_254_740_993, -2], :s64)
  ),
  case_of.(
    :max,
    tensor([18_446_744_073_709_551_614], :u64),
    tensor([18_446_744_073_709_551_615], :u64)
  ),
  case_of.(:remainder, tensor([-2, 2, -2, 7], :s32), tensor([3, -3, -3, 3], :s32))
]

Enum.concat([
  arithmetic,
  remainders,
  quotients,
  divisions,
  angles,
  powers,
  bitwise,
  shifts,
  comparisons,
  logical,
  mixed,
  wrapping,
  non_finite,
  large
])
