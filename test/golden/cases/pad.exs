import Golden

# `Nx.BinaryBackend` takes the bits of a float for elements of an integer tensor.
pad = fn tensor, value, padding ->
  golden({:pad, %{padding: padding}}, [tensor, value], &Nx.pad(&1, &2, padding))
end

every_type =
  for type <- types() do
    pad.(sample({2, 3}, type), tensor(7, type), [{1, 0, 0}, {0, 2, 1}])
  end

every_type ++
  [
    pad.(sample({3}, :f32), tensor(:nan, :f32), [{2, 1, 0}]),
    pad.(sample({5}, :s32), tensor(0, :s32), [{-1, -2, 0}]),
    pad.(sample({5}, :s64), tensor(9, :s64), [{-1, 2, 0}]),
    pad.(sample({4}, :f64), tensor(0.5, :f64), [{-2, -1, 2}]),
    pad.(sample({2, 2, 2}, :u8), tensor(1, :u8), [{0, 0, 0}, {1, -1, 1}, {-1, 3, 0}]),
    pad.(sample({2, 2}, :f32), tensor(3, :s32), [{0, 0, 3}, {0, 0, 0}]),
    pad.(sample({}, :f32), tensor(3, :f32), [])
  ]
