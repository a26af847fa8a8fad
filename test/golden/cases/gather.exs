import Golden

gather = fn tensor, indices, axes ->
  golden({:gather, %{axes: axes}}, [tensor, indices], &Nx.gather(&1, &2, axes: axes))
end

take = fn tensor, indices, axis ->
  golden({:take, %{axis: axis}}, [tensor, indices], &Nx.take(&1, &2, axis: axis))
end

along = fn tensor, indices, axis ->
  function = &Nx.take_along_axis(&1, &2, axis: axis)
  golden({:take_along_axis, %{axis: axis}}, [tensor, indices], function)
end

every_type =
  for type <- types() do
    tensor = sample({3, 4}, type)

    [
      gather.(tensor, tensor([[2, 3], [0, 1]], :s32), [0, 1]),
      take.(tensor, tensor([2, 0, 2], :s64), 0),
      along.(tensor, tensor([[3, 0], [1, 1], [2, 3]], :u8), 1)
    ]
  end

every_index_type =
  for type <- integers() do
    [
      gather.(sample({4, 2}, :f32), tensor([[3], [0]], type), [0]),
      take.(sample({2, 4}, :f32), tensor([[3, 0], [1, 2]], type), 1),
      along.(sample({4, 2}, :f32), tensor([[3, 0]], type), 0)
    ]
  end

Enum.concat(every_type) ++
  Enum.concat(every_index_type) ++
  [
    gather.(sample({2, 3, 4}, :s16), tensor([[1, 2], [0, 0]], :s32), [0, 2]),
    gather.(sample({2, 3, 4}, :f64), tensor([[[1], [2]], [[0], [1]]], :s32), [1]),
    gather.(sample({2, 3}, :u8), tensor([1, 2], :s32), [0, 1]),
    take.(sample({2, 3, 2}, :f64), tensor([[0, 2], [1, 1]], :s32), 1),
    take.(sample({3, 2}, :s32), tensor(1, :s32), 0),
    along.(sample({2, 3, 2}, :s64), tensor([[[0, 2]], [[1, 0]]], :s32), 1)
  ]
