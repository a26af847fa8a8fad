import Golden

window = fn kind, tensor, dimensions, options ->
  ones = Enum.map(dims(tensor), fn _ -> 1 end)
  options = Keyword.merge([strides: ones, padding: :valid, window_dilations: ones], options)
  shape = List.to_tuple(dimensions)

  padding =
    if options[:padding] == :valid,
      do: Enum.map(ones, fn _ -> {0, 0} end),
      else: options[:padding]

  attributes = %{
    kind: kind,
    dimensions: dimensions,
    strides: options[:strides],
    padding: padding,
    dilations: options[:window_dilations]
  }

  golden({:window, attributes}, [tensor], &apply(Nx, :"window_#{kind}", [&1, shape, options]))
end

scatter = fn kind, tensor, source, initial, dimensions, strides, padding ->
  attributes = %{kind: kind, dimensions: dimensions, strides: strides, padding: padding}
  shape = List.to_tuple(dimensions)
  options = [strides: strides, padding: padding]

  golden({:window_scatter, attributes}, [tensor, source, initial], fn ->
    apply(Nx, :"window_scatter_#{kind}", [tensor, source, initial, shape, options])
  end)
end

windows =
  for kind <- [:sum, :product, :max, :min] do
    every_type =
      for type <- types() do
        tensor = sample({2, 4}, type, 1)
        [window.(kind, tensor, [2, 2], []), window.(kind, tensor, [1, 3], strides: [2, 1])]
      end

    Enum.concat(every_type) ++
      [
        window.(kind, sample({1, 2, 5, 5}, :f32), [1, 1, 2, 2], strides: [1, 1, 2, 2]),
        window.(kind, sample({7}, :f64), [3], padding: [{2, 1}]),
        window.(kind, sample({7}, :s32), [3], padding: [{0, 2}], strides: [2]),
        window.(kind, sample({4, 4}, :f32), [1, 2],
          window_dilations: [1, 2],
          padding: [{0, 0}, {1, 1}]
        ),
        window.(kind, sample({9}, :s64), [3], window_dilations: [3], strides: [2])
      ]
  end

# The NaN of a window is its extreme, wherever it stands.
not_a_number =
  for kind <- [:max, :min], values <- [[:nan, 1.0, 2.0], [1.0, :nan, 2.0], [1.0, 2.0, :nan]] do
    window.(kind, tensor(values, :f32), [2], [])
  end

# Elements that differ in every window: backends disagree on which of equal ones is the extreme.
distinct = fn shape, type ->
  size = shape |> Tuple.to_list() |> Enum.product()
  values = for index <- 1..size, do: rem(index * 11, 2 * size + 1)
  values |> tensor(type) |> Nx.reshape(shape)
end

scatters =
  for kind <- [:max, :min] do
    every_type =
      for type <- types() do
        scatter.(
          kind,
          distinct.({4, 4}, type),
          sample({2, 2}, type),
          tensor(0, type),
          [2, 2],
          [2, 2],
          [{0, 0}, {0, 0}]
        )
      end

    every_type ++
      [
        # Windows that overlap: an element that is the extreme of several gets them all.
        scatter.(
          kind,
          distinct.({5}, :s32),
          sample({3}, :s32),
          tensor(10, :s32),
          [3],
          [1],
          [{0, 0}]
        ),
        scatter.(
          kind,
          distinct.({1, 4, 6}, :f64),
          sample({1, 2, 2}, :f64),
          tensor(0.5, :f64),
          [1, 2, 3],
          [1, 2, 3],
          [{0, 0}, {0, 0}, {0, 0}]
        )
      ]
  end

padded = [
  scatter.(
    :max,
    distinct.({5}, :f32),
    sample({3}, :f32),
    tensor(0, :f32),
    [2],
    [2],
    [{0, 1}]
  )
]

Enum.concat(windows) ++ not_a_number ++ Enum.concat(scatters) ++ padded
