import Golden

reshape = fn tensor, shape ->
  golden({:reshape, %{shape: Tuple.to_list(shape)}}, [tensor], &Nx.reshape(&1, shape))
end

transpose = fn tensor, axes ->
  golden({:transpose, %{axes: axes}}, [tensor], &Nx.transpose(&1, axes: axes))
end

broadcast = fn tensor, shape, axes ->
  op = {:broadcast, %{shape: Tuple.to_list(shape), axes: axes}}
  golden(op, [tensor], &Nx.broadcast(&1, shape, axes: axes))
end

reverse = fn tensor, axes ->
  golden({:reverse, %{axes: axes}}, [tensor], &Nx.reverse(&1, axes: axes))
end

every_type =
  for type <- types() do
    tensor = sample({2, 3}, type)

    [
      reshape.(tensor, {3, 2}),
      transpose.(tensor, [1, 0]),
      broadcast.(tensor, {2, 2, 3}, [1, 2]),
      reverse.(tensor, [1])
    ]
  end

Enum.concat(every_type) ++
  [
    reshape.(sample({}, :f32), {1, 1}),
    reshape.(sample({1, 1}, :s8), {}),
    reshape.(sample({2, 3, 4}, :f64), {24}),
    transpose.(sample({}, :f32), []),
    transpose.(sample({2, 3, 4}, :f32), [2, 0, 1]),
    transpose.(sample({2, 3, 4}, :u16), [1, 2, 0]),
    transpose.(sample({2, 1, 3, 2}, :s64), [3, 1, 2, 0]),
    broadcast.(sample({}, :f32), {2, 2}, []),
    broadcast.(sample({3}, :s32), {3, 2}, [0]),
    broadcast.(sample({2, 1, 3}, :f64), {2, 4, 3}, [0, 1, 2]),
    broadcast.(sample({1, 3}, :u8), {2, 3, 2}, [0, 1]),
    reverse.(sample({5}, :f32), [0]),
    reverse.(sample({2, 3, 4}, :s16), [0, 2]),
    reverse.(sample({2, 3, 4}, :bf16), [])
  ]
