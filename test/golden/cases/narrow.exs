import Golden

narrow = narrow_integers() ++ narrow_floats()

# `Nx.BinaryBackend` computes nothing in less than a byte: a byte does, and is cut to its low bits.
wide = fn
  %Nx.Tensor{type: {kind, bits}} = tensor when bits < 8 ->
    tensor |> Nx.to_flat_list() |> tensor({kind, 8}) |> Nx.reshape(tensor)

  tensor ->
    tensor
end

cut = fn
  %Nx.Tensor{type: {kind, 8}} = tensor, {kind, bits} when bits < 8 ->
    values =
      for value <- Nx.to_flat_list(tensor) do
        case {kind, <<value::size(bits)>>} do
          {:s, <<low::signed-size(bits)>>} -> low
          {:u, <<low::size(bits)>>} -> low
        end
      end

    values |> tensor({kind, bits}) |> Nx.reshape(tensor)

  tensor, _type ->
    tensor
end

in_bytes = fn function, type ->
  cut = fn result -> cut.(result, Nx.Type.normalize!(type)) end

  case Function.info(function, :arity) do
    {:arity, 1} -> &cut.(function.(wide.(&1)))
    {:arity, 2} -> &cut.(function.(wide.(&1), wide.(&2)))
  end
end

arithmetic =
  for name <- [:add, :subtract, :multiply, :max, :min], type <- narrow, seed <- [1, 3, 5] do
    # Products of 8-bit floats are exact by powers of two.
    right =
      if name == :multiply and type in narrow_floats(),
        do: tensor([0.5, -2, 1], type),
        else: sample({3}, type, seed)

    golden(
      {:binary, name},
      [sample({2, 3}, type), right],
      in_bytes.(&apply(Nx, name, [&1, &2]), type)
    )
  end

comparisons =
  for name <- [:equal, :not_equal, :greater, :less_equal, :logical_or], type <- narrow do
    operands = [sample({2, 3}, type), sample({3}, type, 5)]
    golden({:binary, name}, operands, in_bytes.(&apply(Nx, name, [&1, &2]), type))
  end

unary =
  for name <- [:abs, :negate, :sign, :bitwise_not],
      type <- narrow,
      name != :bitwise_not or type in narrow_integers(),
      seed <- [0, 3, 5] do
    golden({:unary, name}, [sample({7}, type, seed)], in_bytes.(&apply(Nx, name, [&1]), type))
  end

bitwise =
  for name <- [:bitwise_and, :bitwise_or, :bitwise_xor, :left_shift, :right_shift],
      type <- narrow_integers() do
    shift = tensor([0, 1, 1], type)
    shift = if name in [:left_shift, :right_shift], do: Nx.abs(shift), else: shift

    golden(
      {:binary, name},
      [sample({2, 3}, type), shift],
      in_bytes.(&apply(Nx, name, [&1, &2]), type)
    )
  end

reductions =
  for kind <- [:reduce_max, :reduce_min, :all, :any], type <- narrow, axes <- [[0], [0, 1]] do
    op = {:reduce, %{kind: kind, axes: axes, keep_axes: false}}
    golden(op, [sample({3, 2}, type)], in_bytes.(&apply(Nx, kind, [&1, [axes: axes]]), type))
  end

conversions =
  for type <- narrow, from <- [:s8, :s32, :u8, :u64, :bf16, :f32, :f64] do
    golden({:convert, :as_type}, [tensor([0, 1, 1, 0, 1], from)], &Nx.as_type(&1, type))
  end

layout =
  for type <- narrow, shape <- [{2, 3}, {5, 2}] do
    tensor = sample(shape, type)
    {rows, columns} = shape

    [
      golden({:transpose, %{axes: [1, 0]}}, [tensor], &Nx.transpose/1),
      golden({:reverse, %{axes: [1]}}, [tensor], &Nx.reverse(&1, axes: [1])),
      golden({:reshape, %{shape: [columns, rows]}}, [tensor], &Nx.reshape(&1, {columns, rows})),
      golden({:concatenate, %{axis: 1}}, [tensor, tensor], &Nx.concatenate([&1, &2], axis: 1)),
      golden({:stack, %{axis: 0}}, [tensor, tensor], &Nx.stack([&1, &2])),
      golden({:sort, %{axis: 0, descending: true}}, [tensor], &Nx.sort(&1, direction: :desc)),
      golden({:iota, %{shape: [2, 2], axis: 1}}, [], fn ->
        Nx.iota({2, 2}, axis: 1, type: type)
      end),
      golden({:eye, %{shape: [2, 3]}}, [], fn -> Nx.eye({2, 3}, type: type) end)
    ]
  end

arithmetic ++
  comparisons ++
  unary ++ bitwise ++ reductions ++ conversions ++ Enum.concat(layout)
