import Golden

# The attributes are Nx's options, all written out.
conv = fn input, kernel, options ->
  axes = Nx.axes(input)
  ones = List.duplicate(1, Nx.rank(input) - 2)

  defaults = [
    strides: ones,
    padding: Enum.map(ones, fn _ -> {0, 0} end),
    input_dilation: ones,
    kernel_dilation: ones,
    feature_group_size: 1,
    batch_group_size: 1,
    input_permutation: axes,
    kernel_permutation: axes,
    output_permutation: axes
  ]

  options = Keyword.merge(defaults, options)
  {groups, attributes} = Keyword.split(options, [:feature_group_size, :batch_group_size])

  attributes =
    attributes
    |> Map.new()
    |> Map.put(:feature_groups, groups[:feature_group_size])
    |> Map.put(:batch_groups, groups[:batch_group_size])

  golden({:conv, attributes}, [input, kernel], &Nx.conv(&1, &2, options))
end

every_type =
  for type <- types() do
    conv.(sample({1, 2, 3, 3}, type), sample({2, 2, 2, 2}, type, 3), [])
  end

image = sample({2, 2, 4, 5}, :f32)
kernel = sample({3, 2, 2, 3}, :f32, 3)

every_type ++
  [
    conv.(image, kernel, strides: [2, 1]),
    conv.(image, kernel, padding: [{1, 0}, {1, 2}]),
    conv.(image, kernel, padding: [{-1, 1}, {0, -1}]),
    conv.(image, kernel, input_dilation: [2, 3]),
    conv.(image, kernel, kernel_dilation: [3, 2]),
    conv.(image, kernel, strides: [2, 2], padding: [{1, 1}, {2, 0}], input_dilation: [1, 2]),
    conv.(image, sample({4, 2, 1, 1}, :f32, 2), []),
    # In groups: of the channels, one channel each, and of the batch.
    conv.(sample({1, 4, 3, 3}, :f64), sample({4, 2, 2, 2}, :f64), feature_group_size: 2),
    conv.(sample({1, 3, 3, 3}, :f32), sample({3, 1, 2, 2}, :f32), feature_group_size: 3),
    conv.(sample({1, 2, 3, 3}, :s32), sample({4, 1, 2, 2}, :s32), feature_group_size: 2),
    conv.(sample({4, 2, 3, 3}, :f32), sample({4, 2, 2, 2}, :f32), batch_group_size: 2),
    # Channels last, as Axon lays them out.
    conv.(sample({1, 4, 4, 2}, :f32), sample({2, 2, 2, 3}, :f32),
      input_permutation: [0, 3, 1, 2],
      kernel_permutation: [3, 2, 0, 1],
      output_permutation: [0, 3, 1, 2]
    ),
    conv.(sample({4, 1, 2, 3}, :f64), sample({2, 2, 3, 2}, :f64),
      input_permutation: [1, 3, 0, 2],
      kernel_permutation: [0, 2, 3, 1],
      output_permutation: [2, 0, 3, 1],
      padding: [{1, 0}, {0, 1}]
    ),
    # One spatial axis, and three.
    conv.(sample({2, 3, 6}, :f32), sample({2, 3, 3}, :f32), strides: [2], padding: [{1, 1}]),
    conv.(sample({1, 2, 3, 3, 2}, :f64), sample({2, 2, 2, 2, 2}, :f64), []),
    # Types that meet.
    conv.(sample({1, 1, 3, 3}, :u8), sample({1, 1, 2, 2}, :f32), []),
    conv.(sample({1, 1, 3, 3}, :s8), sample({1, 1, 2, 2}, :s16), [])
  ]
