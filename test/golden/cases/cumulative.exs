import Golden

cumulative = fn kind, tensor, axis, reverse ->
  op = {:cumulative, %{kind: kind, axis: axis, reverse: reverse}}
  function = &apply(Nx, :"cumulative_#{kind}", [&1, [axis: axis, reverse: reverse]])
  golden(op, [tensor], function)
end

cases =
  for kind <- [:sum, :product, :max, :min] do
    every_type =
      for type <- types() do
        tensor = sample({2, 3}, type)
        [cumulative.(kind, tensor, 1, false), cumulative.(kind, tensor, 0, true)]
      end

    Enum.concat(every_type) ++
      [
        cumulative.(kind, sample({1}, :f32), 0, false),
        cumulative.(kind, sample({2, 5, 2}, :f64), 1, false),
        cumulative.(kind, sample({2, 5, 2}, :s64), 1, true),
        cumulative.(kind, tensor([100, 100, 100], :u8), 0, false)
      ]
  end

not_a_number =
  for kind <- [:max, :min], reverse <- [false, true] do
    cumulative.(kind, tensor([1.0, :nan, 5.0], :f32), 0, reverse)
  end

Enum.concat(cases) ++ not_a_number
