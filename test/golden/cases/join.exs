import Golden

concatenate = fn tensors, axis ->
  golden({:concatenate, %{axis: axis}}, tensors, fn -> Nx.concatenate(tensors, axis: axis) end)
end

stack = fn tensors, axis ->
  golden({:stack, %{axis: axis}}, tensors, fn -> Nx.stack(tensors, axis: axis) end)
end

every_type =
  for type <- types() do
    pair = [sample({2, 3}, type), sample({2, 3}, type, 6)]
    [concatenate.(pair, 0), concatenate.(pair, 1), stack.(pair, 0), stack.(pair, 2)]
  end

Enum.concat(every_type) ++
  [
    concatenate.([sample({3}, :f32)], 0),
    concatenate.([sample({2, 1, 2}, :f32), sample({2, 3, 2}, :f32), sample({2, 2, 2}, :f32)], 1),
    concatenate.([sample({2}, :u8), sample({1}, :s16), sample({3}, :f32)], 0),
    stack.([sample({2}, :f64)], 1),
    stack.([sample({}, :s32), sample({}, :s32, 3), sample({}, :s32, 5)], 0),
    stack.([sample({2, 2}, :u8), sample({2, 2}, :s64)], 1)
  ]
