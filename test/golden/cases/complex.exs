import Golden

# `Nx.BinaryBackend` takes acos and acosh across their branch cuts.
functions =
  for name <- [
        [:exp, :expm1, :log, :log1p, :sigmoid, :sqrt, :rsqrt, :cbrt, :sin, :cos, :tan],
        [:asin, :atan, :sinh, :cosh, :tanh, :asinh, :atanh, :abs, :negate]
      ],
      name <- name,
      type <- complex() do
    numbers =
      tensor([Complex.new(1.5, -0.5), Complex.new(0.25, 2.0), Complex.new(-0.5, 0.75)], type)

    golden({:unary, name}, [numbers], &apply(Nx, name, [&1]), tolerance: 1.0e-5)
  end

arithmetic =
  for name <- [:add, :subtract, :multiply, :divide, :pow, :equal, :not_equal, :logical_and],
      type <- complex(),
      other <- [type, :f32, :s16] do
    right = tensor([2, 3, 1], other)

    golden({:binary, name}, [sample({2, 3}, type), right], &apply(Nx, name, [&1, &2]),
      tolerance: 1.0e-5
    )
  end

parts =
  for name <- [:real, :imag, :conjugate], type <- [:s8, :f32, :f64 | complex()] do
    golden({:part, name}, [sample({2, 3}, type)], &apply(Nx, name, [&1]))
  end

transforms =
  for kind <- [:fft, :ifft],
      type <- [:s32, :f32, :f64 | complex()],
      {axis, length} <- [{0, 4}, {1, 6}, {1, 3}, {1, 8}] do
    op = {:fourier, %{kind: kind, axis: axis, length: length, eps: 0.0}}
    options = [axis: axis, length: length, eps: 0.0]

    golden(op, [sample({4, 6}, type)], &apply(Nx, kind, [&1, options]), tolerance: 1.0e-6)
  end

reductions =
  for kind <- [:sum, :product, :all, :any], type <- complex(), axes <- [[0], [0, 1]] do
    op = {:reduce, %{kind: kind, axes: axes, keep_axes: false}}
    golden(op, [sample({3, 2}, type)], &apply(Nx, kind, [&1, [axes: axes]]), tolerance: 1.0e-5)
  end

layout =
  for type <- complex() do
    tensor = sample({2, 3}, type)

    [
      golden({:transpose, %{axes: [1, 0]}}, [tensor], &Nx.transpose/1),
      golden({:reverse, %{axes: [1]}}, [tensor], &Nx.reverse(&1, axes: [1])),
      golden({:reshape, %{shape: [3, 2]}}, [tensor], &Nx.reshape(&1, {3, 2})),
      golden({:concatenate, %{axis: 0}}, [tensor, tensor], &Nx.concatenate([&1, &2])),
      golden({:convert, :as_type}, [sample({2, 3}, :s16)], &Nx.as_type(&1, type)),
      golden({:eye, %{shape: [3, 3]}}, [], fn -> Nx.eye(3, type: type) end),
      golden({:iota, %{shape: [4], axis: nil}}, [], fn -> Nx.iota({4}, type: type) end),
      golden(
        {:dot, %{contract_left: [1], batch_left: [], contract_right: [1], batch_right: []}},
        [tensor, tensor],
        &Nx.dot(&1, [1], &2, [1])
      )
    ]
  end

functions ++ arithmetic ++ parts ++ transforms ++ reductions ++ Enum.concat(layout)
