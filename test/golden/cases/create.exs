import Golden

constant = fn value, shape, type ->
  op = {:constant, %{value: value, shape: Tuple.to_list(shape)}}
  golden(op, [], fn -> Nx.broadcast(tensor(value, type), shape) end)
end

iota = fn shape, axis, type ->
  op = {:iota, %{shape: Tuple.to_list(shape), axis: axis}}
  golden(op, [], fn -> Nx.iota(shape, axis: axis, type: type) end)
end

eye = fn shape, type ->
  golden({:eye, %{shape: Tuple.to_list(shape)}}, [], fn -> Nx.eye(shape, type: type) end)
end

every_type =
  for type <- types(),
      do: [constant.(3, {2, 3}, type), iota.({2, 3}, nil, type), eye.({2, 3}, type)]

Enum.concat(every_type) ++
  [
    constant.(18_446_744_073_709_551_615, {2}, :u64),
    constant.(-9_223_372_036_854_775_808, {}, :s64),
    constant.(0.1, {2}, :f32),
    constant.(:nan, {2}, :f64),
    constant.(:infinity, {1}, :f16),
    constant.(:neg_infinity, {1}, :bf16),
    iota.({}, nil, :s32),
    iota.({2, 3, 2}, 0, :u8),
    iota.({2, 3, 2}, 1, :s64),
    iota.({2, 3, 2}, 2, :f32),
    eye.({3, 3}, :u8),
    eye.({2, 3, 2}, :f64),
    eye.({1, 1}, :s16)
  ]
