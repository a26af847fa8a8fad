import Golden

indexed = fn kind, target, indices, updates, axes ->
  function = %{add: &Nx.indexed_add/4, put: &Nx.indexed_put/4}[kind]
  op = {:indexed, %{kind: kind, axes: axes}}
  golden(op, [target, indices, updates], &function.(&1, &2, &3, axes: axes))
end

cases =
  for kind <- [:add, :put] do
    every_type =
      for type <- types() do
        indices = tensor([[0, 1], [2, 3], [1, 0]], :s32)
        indexed.(kind, sample({3, 4}, type), indices, sample({3}, type, 4), [0, 1])
      end

    every_index_type =
      for type <- integers() do
        indices = tensor([[3], [0]], type)
        indexed.(kind, sample({4, 2}, :f32), indices, sample({2, 2}, :f32, 4), [0])
      end

    every_type ++
      every_index_type ++
      [
        indexed.(kind, sample({2, 3}, :f64), tensor([[2], [0]], :s64), sample({2, 2}, :f64), [1]),
        indexed.(
          kind,
          sample({2, 3, 2}, :s16),
          tensor([[1, 1], [0, 0]], :u8),
          sample({2, 3}, :s16, 7),
          [0, 2]
        ),
        indexed.(kind, sample({3}, :s32), tensor([[1], [2]], :s32), sample({2}, :f32), [0]),
        indexed.(kind, sample({3}, :u8), tensor([[1], [2]], :s32), sample({2}, :s8), [0])
      ]
  end

# Updates of one element add up; of those that replace it, the last wins.
repeated =
  for kind <- [:add, :put], type <- [:s32, :f16, :f64] do
    indices = tensor([[1], [1], [0], [1]], :s64)
    indexed.(kind, sample({3}, type), indices, sample({4}, type, 2), [0])
  end

Enum.concat(cases) ++ repeated
