import Golden

sort = fn tensor, axis, direction ->
  op = {:sort, %{axis: axis, descending: direction == :desc}}
  golden(op, [tensor], &Nx.sort(&1, axis: axis, direction: direction))
end

# Equal elements keep their order.
argsort = fn tensor, axis, direction ->
  op = {:argsort, %{axis: axis, descending: direction == :desc}}
  golden(op, [tensor], &Nx.argsort(&1, axis: axis, direction: direction, stable: true))
end

cases =
  for direction <- [:asc, :desc] do
    every_type =
      for type <- types() do
        tensor = sample({2, 7}, type)
        [sort.(tensor, 1, direction), argsort.(tensor, 1, direction)]
      end

    not_a_number = tensor([3.0, :nan, 1.0, :neg_infinity, :infinity, :nan, 2.0], :f32)
    large = tensor([9_007_199_254_740_993, 9_007_199_254_740_992, -1], :s64)

    Enum.concat(every_type) ++
      [
        sort.(sample({3, 2, 4}, :f64), 0, direction),
        sort.(sample({3, 2, 4}, :s32), 1, direction),
        argsort.(sample({3, 2, 4}, :u8), 0, direction),
        argsort.(tensor([1, 0, 1, 0, 1], :s32), 0, direction),
        sort.(not_a_number, 0, direction),
        argsort.(not_a_number, 0, direction),
        sort.(large, 0, direction),
        sort.(tensor([18_446_744_073_709_551_615, 0, 5], :u64), 0, direction)
      ]
  end

Enum.concat(cases)
