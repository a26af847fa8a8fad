import Golden

reduce = fn kind, tensor, axes, keep_axes ->
  op = {:reduce, %{kind: kind, axes: axes, keep_axes: keep_axes}}
  golden(op, [tensor], &apply(Nx, kind, [&1, [axes: axes, keep_axes: keep_axes]]))
end

position = fn kind, tensor, axis, options ->
  options = Keyword.merge([keep_axis: false, tie_break: :low], options)
  op = {:arg_reduce, Map.new([kind: kind, axis: axis] ++ options)}
  golden(op, [tensor], &apply(Nx, kind, [&1, [axis: axis] ++ options]))
end

kinds = [:sum, :product, :reduce_max, :reduce_min, :all, :any]

reductions =
  for kind <- kinds do
    every_type = for type <- types(), do: reduce.(kind, sample({2, 3}, type, 3), [1], true)

    every_type ++
      [
        reduce.(kind, sample({3, 2, 2}, :f16), [0, 1, 2], false),
        reduce.(kind, sample({3, 2, 2}, :s8), [0, 1, 2], false),
        reduce.(kind, sample({2, 1, 3, 2}, :s32), [0, 2], false),
        reduce.(kind, sample({2, 1, 3, 2}, :f32), [3, 1], true)
      ]
  end

# Over no axes; `Nx.BinaryBackend` then answers all and any with the elements themselves.
no_axes =
  for kind <- [:sum, :product, :reduce_max, :reduce_min] do
    [reduce.(kind, sample({}, :f32), [], false), reduce.(kind, sample({2, 3}, :f64), [], false)]
  end

# Sums wider than what is summed, and the order of a NaN in it.
notable = [
  reduce.(:sum, tensor([200, 100, 250], :u8), [0], false),
  reduce.(:sum, tensor([9_007_199_254_740_993, 1], :s64), [0], false),
  reduce.(:sum, tensor([16_777_217, 0], :s32), [0], false),
  reduce.(:product, tensor([1_000_000, 1_000_000, 7], :s64), [0], false),
  reduce.(:reduce_max, tensor([3_000_000_000, 5], :u32), [0], false),
  reduce.(:reduce_max, tensor([1.0, :nan, 3.0], :f32), [0], false),
  reduce.(:reduce_min, tensor([:nan, 1.0, 3.0], :f64), [0], false),
  reduce.(:sum, tensor([1.0, :infinity, 3.0], :f32), [0], false),
  reduce.(:sum, Nx.broadcast(tensor(1, :f16), {4096}), [0], false)
]

positions =
  for kind <- [:argmax, :argmin] do
    every_type =
      for type <- types() do
        tensor = sample({2, 4}, type)
        [position.(kind, tensor, nil, []), position.(kind, tensor, 1, keep_axis: true)]
      end

    Enum.concat(every_type) ++
      for tie_break <- [:low, :high] do
        position.(kind, tensor([[1, 3, 1], [3, 1, 3]], :s32), nil, tie_break: tie_break)
      end ++
      for tie_break <- [:low, :high], axis <- [0, 1] do
        position.(kind, tensor([[2.0, 2.0], [2.0, 2.0]], :f32), axis, tie_break: tie_break)
      end ++
      [
        position.(kind, sample({2, 3, 2}, :f64), 1, keep_axis: false),
        position.(kind, sample({2, 3, 2}, :u64), nil, keep_axis: true),
        position.(kind, tensor([1.0, :nan, 3.0], :f32), 0, keep_axis: false)
      ]
  end

Enum.concat(reductions) ++ Enum.concat(no_axes) ++ notable ++ Enum.concat(positions)
