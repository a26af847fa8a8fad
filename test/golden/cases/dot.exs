import Golden

dot = fn left, {contract_left, batch_left}, right, {contract_right, batch_right} ->
  attributes = %{
    contract_left: contract_left,
    batch_left: batch_left,
    contract_right: contract_right,
    batch_right: batch_right
  }

  function = &Nx.dot(&1, contract_left, batch_left, &2, contract_right, batch_right)
  golden({:dot, attributes}, [left, right], function)
end

every_type =
  for type <- types() do
    [
      dot.(sample({2, 3}, type), {[1], []}, sample({3, 4}, type, 2), {[0], []}),
      dot.(sample({2, 2, 3}, type), {[2], [0]}, sample({2, 3, 2}, type, 2), {[1], [0]})
    ]
  end

Enum.concat(every_type) ++
  [
    # Inner, outer and scalar products.
    dot.(sample({5}, :f32), {[0], []}, sample({5}, :f32, 1), {[0], []}),
    dot.(sample({2}, :f64), {[], []}, sample({3}, :f64, 1), {[], []}),
    dot.(sample({}, :s32), {[], []}, sample({2, 2}, :s32, 1), {[], []}),
    dot.(sample({2, 3}, :f32), {[1], []}, sample({3}, :f32, 1), {[0], []}),
    dot.(sample({3}, :s64), {[0], []}, sample({3, 2}, :s64, 1), {[0], []}),
    # Transposed, several contracted axes, in another order on the other side.
    dot.(sample({3, 2}, :f32), {[0], []}, sample({4, 3}, :f32, 1), {[1], []}),
    dot.(sample({2, 3, 4}, :f64), {[1, 2], []}, sample({4, 3, 2}, :f64, 1), {[1, 0], []}),
    dot.(sample({2, 3, 2, 2}, :f32), {[3], [0, 1]}, sample({2, 3, 2}, :f32), {[2], [0, 1]}),
    # Types that meet.
    dot.(sample({2, 3}, :u8), {[1], []}, sample({3, 2}, :f32), {[0], []}),
    dot.(sample({2, 3}, :s8), {[1], []}, sample({3, 2}, :s64), {[0], []}),
    dot.(sample({2, 3}, :bf16), {[1], []}, sample({3, 2}, :f16), {[0], []}),
    # Beyond what an `f64` holds.
    dot.(tensor([4_294_967_297, 1], :s64), {[0], []}, tensor([4_294_967_297, 1], :s64), {[0], []})
  ]
