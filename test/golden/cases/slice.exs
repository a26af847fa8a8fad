import Golden

slice = fn tensor, starts, lengths, strides ->
  op = {:slice, %{starts: starts, lengths: lengths, strides: strides}}
  golden(op, [tensor], &Nx.slice(&1, starts, lengths, strides: strides))
end

dynamic_slice = fn tensor, starts, lengths, strides ->
  op = {:dynamic_slice, %{lengths: lengths, strides: strides}}

  golden(op, [tensor | starts], fn ->
    Nx.slice(tensor, starts, lengths, strides: strides)
  end)
end

put_slice = fn tensor, starts, slice ->
  golden({:put_slice, %{starts: starts}}, [tensor, slice], &Nx.put_slice(&1, starts, &2))
end

dynamic_put_slice = fn tensor, starts, slice ->
  operands = [tensor, slice | starts]
  golden({:dynamic_put_slice, %{}}, operands, fn -> Nx.put_slice(tensor, starts, slice) end)
end

every_type =
  for type <- types() do
    tensor = sample({3, 4}, type)
    update = sample({2, 2}, type, 8)
    starts = [tensor(1, :s32), tensor(2, :s64)]

    [
      slice.(tensor, [1, 0], [2, 4], [1, 2]),
      dynamic_slice.(tensor, starts, [2, 2], [1, 1]),
      put_slice.(tensor, [1, 2], update),
      dynamic_put_slice.(tensor, starts, update)
    ]
  end

Enum.concat(every_type) ++
  [
    slice.(sample({2, 3, 5}, :f32), [0, 1, 1], [2, 2, 4], [1, 1, 3]),
    slice.(sample({7}, :u16), [6], [1], [1]),
    # Starts that would reach past an end are moved back.
    dynamic_slice.(sample({6}, :s32), [tensor(4, :s64)], [4], [1]),
    dynamic_slice.(sample({6}, :s32), [tensor(-3, :s32)], [2], [1]),
    dynamic_slice.(sample({2, 6}, :f64), [tensor(0, :u8), tensor(200, :u8)], [1, 5], [1, 2]),
    dynamic_put_slice.(sample({5}, :s32), [tensor(4, :s32)], tensor([90, 91], :s32)),
    dynamic_put_slice.(sample({5}, :f32), [tensor(-2, :s8)], tensor([0.5], :f32)),
    put_slice.(sample({2, 2, 3}, :s64), [0, 1, 0], sample({2, 1, 2}, :s64, 4)),
    put_slice.(sample({3}, :u8), [1], tensor([0.5], :f32))
  ]
