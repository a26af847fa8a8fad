import Golden

select = fn test, yes, no -> golden({:choose, :select}, [test, yes, no], &Nx.select/3) end
clip = fn tensor, low, high -> golden({:choose, :clip}, [tensor, low, high], &Nx.clip/3) end

selections =
  for type <- types() do
    select.(tensor([[1, 0, 1], [0, 0, 2]], :u8), sample({2, 3}, type), sample({2, 3}, type, 4))
  end ++
    for type <- [:s8, :s64, :f16, :f32] do
      select.(sample({3}, type), tensor([1, 2, 3], :s32), tensor([-1.5, -2.5, -3.5], :f32))
    end ++
    [
      select.(tensor(1, :u8), sample({2, 3}, :f32), tensor(0.5, :f32)),
      select.(tensor(0, :u8), tensor(2, :s32), sample({2, 3}, :s32)),
      select.(tensor([:nan, 0.0, 1.0], :f64), tensor(1, :u8), tensor(2, :u8))
    ]

clipped =
  for type <- types() do
    clip.(sample({2, 6}, type), tensor(1, type), tensor(3, type))
  end ++
    [
      clip.(sample({13}, :f32), tensor(-1, :s32), tensor(1, :s32)),
      clip.(tensor([:infinity, :neg_infinity, 0.25], :f64), tensor(-1.5, :f64), tensor(2.5, :f64))
    ]

selections ++ clipped
