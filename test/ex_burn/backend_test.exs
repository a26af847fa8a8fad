defmodule ExBurn.BackendTest do
  @moduledoc "Every function of Nx that `ExBurn.Backend` implements, against `Nx.BinaryBackend`."

  use ExUnit.Case, async: true
  use ExUnitProperties

  import ExBurn.Generators

  @moduletag timeout: 120_000

  defp nx(function), do: fn tensor -> apply(Nx, function, [tensor]) end
  defp nx2(function), do: fn left, right -> apply(Nx, function, [left, right]) end

  ## Element by element

  # Where `Nx.BinaryBackend` raises outside of a function's domain, or overflows, that isn't
  # generated; `ExBurn.RobustnessTest` has the right values there.
  @mathematical [
    exp: {-9, 9},
    expm1: {-9, 9},
    log: {0.125, 50},
    log1p: {-0.875, 50},
    sigmoid: {-9, 9},
    cos: {-9, 9},
    sin: {-9, 9},
    tan: {-1.5, 1.5},
    cosh: {-9, 9},
    sinh: {-9, 9},
    tanh: {-9, 9},
    acos: {-1, 1},
    asin: {-1, 1},
    atan: {-9, 9},
    acosh: {1, 50},
    asinh: {-50, 50},
    atanh: {-0.875, 0.875},
    sqrt: {0, 50},
    rsqrt: {0.125, 50},
    cbrt: {-50, 50},
    erf: {-3, 3},
    erfc: {-3, 3},
    erf_inv: {-0.875, 0.875}
  ]

  test "the domains are of all functions" do
    assert Keyword.keys(@mathematical) == Keyword.keys(Nx.Shared.unary_math_funs())
  end

  for {function, {low, high}} <- @mathematical do
    property "#{function}/1 of floats" do
      check all type <- float_type(),
                shape <- shape(),
                tensor <- named(tensor(type, shape, between(unquote(low), unquote(high)))),
                max_runs: 30 do
        compare(nx(unquote(function)), [tensor], ulps: ulps(unquote(function), type), scale: 1.0)
      end
    end
  end

  # The one of `Nx.BinaryBackend` is right to 7 digits.
  defp ulps(:erf_inv, {:f, 64}), do: 2 ** 30
  defp ulps(_function, _type), do: 8

  property "erf_inv/1 is the inverse of erf/1" do
    check all tensor <- tensor({:f, 64}, {9}, between(-0.875, 0.875)) do
      copy = Nx.backend_copy(tensor, ExBurn.Backend)
      assert_same(Nx.erf(Nx.erf_inv(copy)), tensor, ulps: 8, scale: 1.0)
    end
  end

  for function <- [:exp, :sin, :tanh, :sigmoid, :cbrt, :erf, :atan] do
    property "#{function}/1 of integers is f32" do
      check all type <- integer_type(),
                tensor <- tensor(type, {5}, small(type)),
                max_runs: 20 do
        compare(nx(unquote(function)), [tensor], ulps: 8, scale: 1.0)
      end
    end
  end

  for function <- [:abs, :negate, :is_nan, :is_infinity, :logical_not] do
    property "#{function}/1" do
      check all type <- type(), shape <- shape(), tensor <- named(tensor(type, shape)) do
        compare(nx(unquote(function)), [tensor])
      end
    end
  end

  for function <- [:sign, :ceil, :floor, :round] do
    property "#{function}/1" do
      check all type <- type(), shape <- shape(), tensor <- tensor(type, shape, small(type)) do
        compare(nx(unquote(function)), [tensor])
      end
    end
  end

  for function <- [:bitwise_not, :count_leading_zeros, :population_count] do
    property "#{function}/1" do
      check all type <- integer_type(), shape <- shape(), tensor <- named(tensor(type, shape)) do
        compare(nx(unquote(function)), [tensor])
      end
    end
  end

  # Two tensors that broadcast. Those of different types hold small numbers: larger ones are
  # rounded, or wrap, when they become the common type, where `Nx.BinaryBackend` computes exactly.
  defp operands(type, element \\ &element/1) do
    gen all {left_type, right_type} <- one_of([map(type, &{&1, &1}), {type, type}]),
            element <- constant(if left_type == right_type, do: element, else: &small/1),
            {left, right} <- shapes(),
            left <- tensor(left_type, left, element.(left_type)),
            right <- tensor(right_type, right, element.(right_type)) do
      [left, right]
    end
  end

  for function <-
        [:add, :subtract, :multiply, :min, :max, :equal, :not_equal] ++
          [:greater, :less, :greater_equal, :less_equal] ++
          [:logical_and, :logical_or, :logical_xor] do
    property "#{function}/2" do
      check all operands <- operands(type()) do
        compare(nx2(unquote(function)), operands)
      end
    end
  end

  for function <- [:bitwise_and, :bitwise_or, :bitwise_xor] do
    property "#{function}/2" do
      check all operands <- operands(integer_type()) do
        compare(nx2(unquote(function)), operands)
      end
    end
  end

  for function <- [:left_shift, :right_shift] do
    property "#{function}/2" do
      check all [left, right] <- operands(integer_type()) do
        compare(nx2(unquote(function)), [left, Nx.bitwise_and(right, 63)])
      end
    end
  end

  for {function, type} <- [divide: :type, remainder: :type, quotient: :integer_type] do
    property "#{function}/2" do
      check all {left_type, right_type} <- {unquote(type)(), unquote(type)()},
                {left, right} <- shapes(),
                left <- tensor(left_type, left, small(left_type)),
                right <- tensor(right_type, right, filter(small(right_type), &(&1 != 0))) do
        compare(nx2(unquote(function)), [left, right])
      end
    end
  end

  property "pow/2" do
    check all {left_type, right_type} <- {type(), type()},
              {left, right} <- shapes(),
              left <- tensor(left_type, left, positive(left_type)),
              right <- tensor(right_type, right, positive(right_type)) do
      compare(&Nx.pow/2, [left, right], ulps: 8)
    end
  end

  defp positive({kind, _}) when kind in [:s, :u], do: integer(0..9)
  defp positive(_float), do: between(0.125, 3)

  property "atan2/2" do
    check all {left_type, right_type} <- {type(), type()},
              {left, right} <- shapes(),
              left <- tensor(left_type, left, small(left_type)),
              right <- tensor(right_type, right, small(right_type)) do
      compare(&Nx.atan2/2, [left, right], ulps: 4)
    end
  end

  property "select/3" do
    check all {test_type, left_type, right_type} <- {type(), type(), type()},
              {left, right} <- shapes(),
              test <-
                member_of([{}, Enum.max_by([left, right], &{tuple_size(&1), Tuple.product(&1)})]),
              test <- tensor(test_type, test),
              left <- tensor(left_type, left),
              right <- tensor(right_type, right) do
      compare(&Nx.select/3, [test, left, right])
    end
  end

  property "clip/3" do
    check all type <- type(),
              shape <- shape(),
              tensor <- named(tensor(type, shape, small(type))),
              [low, high] <- map(list_of(small(type), length: 2), &Enum.sort/1) do
      compare(&Nx.clip(&1, low, high), [tensor])
    end
  end

  property "as_type/2" do
    check all {from, to} <- {type(), type()},
              shape <- shape(),
              tensor <- named(tensor(from, shape, integer_or_finite(from))) do
      compare(&Nx.as_type(&1, to), [tensor])
    end
  end

  # Which integer a float out of its range becomes is no rule of Nx.
  defp integer_or_finite({kind, _} = type) when kind in [:s, :u], do: element(type)
  defp integer_or_finite(_float), do: between(0, 9)

  property "bitcast/2" do
    check all {_, size} = from <- type(),
              to <- type(size),
              shape <- shape(),
              tensor <- named(tensor(from, shape)) do
      compare(&Nx.bitcast(&1, to), [tensor])
    end
  end

  property "the parts of a real number" do
    check all type <- float_type(), shape <- shape(), tensor <- tensor(type, shape, finite()) do
      compare(&{Nx.real(&1), Nx.imag(&1)}, [tensor])
    end
  end

  ## Creation

  property "iota/2 and eye/2" do
    check all type <- type(),
              shape <- shape(1..4),
              axis <- one_of([constant(nil), axis(shape)]) do
      compare(fn -> Nx.iota(shape, axis: axis, type: type) end, [])
      compare(fn -> Nx.eye(shape |> Tuple.insert_at(0, 2), type: type) end, [])
    end
  end

  property "a number becomes a tensor" do
    check all type <- type(), shape <- shape(), number <- small(type) do
      compare(fn -> Nx.broadcast(Nx.tensor(number, type: type), shape) end, [])
    end
  end

  ## Shape

  property "reshape, squeeze, new_axis and flatten" do
    check all type <- type(), shape <- shape(), tensor <- named(tensor(type, shape)) do
      compare(&Nx.flatten/1, [tensor])
      compare(&Nx.squeeze/1, [tensor])
      compare(&Nx.new_axis(&1, -1), [tensor])
      compare(&Nx.reshape(&1, List.to_tuple([1 | Enum.reverse(Tuple.to_list(shape))])), [tensor])
    end
  end

  property "transpose/2 and what is computed of it" do
    check all type <- type(),
              shape <- shape(),
              axes <- shuffle(Nx.axes(shape)),
              tensor <- named(tensor(type, shape)) do
      compare(&Nx.transpose(&1, axes: axes), [tensor])
      compare(&(&1 |> Nx.transpose(axes: axes) |> Nx.flatten()), [tensor])
      compare(&(&1 |> Nx.transpose(axes: axes) |> Nx.negate()), [tensor])
    end
  end

  property "broadcast/3" do
    check all type <- type(),
              shape <- shape(),
              narrow <- narrower(shape),
              tensor <- tensor(type, narrow) do
      compare(&Nx.broadcast(&1, shape), [tensor])
      compare(&Nx.negate(Nx.broadcast(&1, shape)), [tensor])
    end
  end

  property "broadcast/3 to chosen axes" do
    check all type <- type(),
              shape <- shape(),
              axes <- map(axes(shape), &Enum.sort/1),
              tensor <- tensor(type, axes |> Enum.map(&elem(shape, &1)) |> List.to_tuple()) do
      compare(&Nx.broadcast(&1, shape, axes: axes), [tensor])
    end
  end

  property "reverse/2" do
    check all type <- type(),
              shape <- shape(),
              axes <- axes(shape),
              tensor <- named(tensor(type, shape)) do
      compare(&Nx.reverse(&1, axes: axes), [tensor])
    end
  end

  property "pad/3, which may also cut" do
    check all type <- type(),
              shape <- shape(),
              tensor <- named(tensor(type, shape)),
              value <- small(type),
              padding <-
                each_axis(shape, fn size ->
                  {integer((1 - size)..2), integer(0..2), integer(0..2)}
                end),
              mirrored? <- boolean() do
      padding =
        for {low, high, interior} <- padding do
          if mirrored?, do: {high, low, interior}, else: {low, high, interior}
        end

      compare(&Nx.pad(&1, Nx.tensor(value, type: type), padding), [tensor])
    end
  end

  property "concatenate/2" do
    check all types <- list_of(type(), min_length: 1, max_length: 4),
              shape <- shape(1..4),
              axis <- axis(shape),
              sizes <- list_of(integer(1..3), length: length(types)),
              tensors <-
                fixed_list(
                  Enum.zip_with(types, sizes, fn type, size ->
                    tensor(type, put_elem(shape, Integer.mod(axis, tuple_size(shape)), size))
                  end)
                ) do
      compare(&Nx.concatenate(Tuple.to_list(&1), axis: axis), [List.to_tuple(tensors)])
    end
  end

  property "stack/2" do
    check all types <- list_of(type(), min_length: 1, max_length: 3),
              shape <- shape(0..3),
              axis <- integer(0..tuple_size(shape)),
              tensors <- fixed_list(Enum.map(types, &tensor(&1, shape))) do
      compare(&Nx.stack(Tuple.to_list(&1), axis: axis), [List.to_tuple(tensors)])
    end
  end

  property "to_batched/3" do
    check all type <- type(),
              shape <- shape(1..4),
              batch <- integer(1..elem(shape, 0)),
              leftover <- member_of([:repeat, :discard]),
              tensor <- named(tensor(type, shape)) do
      compare(&Enum.to_list(Nx.to_batched(&1, batch, leftover: leftover)), [tensor])
    end
  end

  property "tile/2, tril/2 and triu/2" do
    check all type <- type(),
              shape <- shape(2..3),
              diagonal <- integer(-2..2),
              tensor <- tensor(type, shape) do
      compare(&Nx.tile(&1, [2, 1]), [tensor])
      compare(&{Nx.tril(&1, k: diagonal), Nx.triu(&1, k: diagonal)}, [tensor])
    end
  end

  ## Indexing

  property "slice/4" do
    check all type <- type(),
              shape <- shape(),
              lengths <- each_axis(shape, &integer(1..&1)),
              starts <- each_axis(shape, fn _ -> integer(-1..5) end),
              strides <- each_axis(shape, fn _ -> integer(1..3) end),
              tensor <- named(tensor(type, shape)) do
      starts = Enum.map(starts, &max(&1, 0))
      compare(&Nx.slice(&1, starts, lengths, strides: strides), [tensor])
      compare(&Nx.negate(Nx.slice(&1, starts, lengths, strides: strides)), [tensor])
    end
  end

  property "slice/4 and put_slice/3 at starts in tensors" do
    check all {type, index_type} <- {type(), integer_type()},
              shape <- shape(1..4),
              lengths <- each_axis(shape, &integer(1..&1)),
              starts <- each_axis(shape, fn _ -> tensor(index_type, {}) end),
              strides <- each_axis(shape, fn _ -> integer(1..3) end),
              tensor <- tensor(type, shape),
              values <- tensor(type, List.to_tuple(lengths)) do
      slice = &Nx.slice(&1, Tuple.to_list(&2), lengths, strides: strides)
      compare(slice, [tensor, List.to_tuple(starts)])
      put = &Nx.put_slice(&1, Tuple.to_list(&3), &2)
      compare(put, [tensor, values, List.to_tuple(starts)])
    end
  end

  property "put_slice/3" do
    check all {type, values_type} <- {type(), type()},
              shape <- shape(1..4),
              lengths <- each_axis(shape, &integer(1..&1)),
              starts <- each_axis(shape, fn _ -> integer(0..5) end),
              tensor <- named(tensor(type, shape)),
              values <- tensor(values_type, List.to_tuple(lengths)) do
      compare(&Nx.put_slice(&1, starts, &2), [tensor, values])
    end
  end

  # Coordinates for some axes of a shape.
  defp coordinates(type, shape, axes, batch) do
    columns = for axis <- axes, do: tensor(type, batch, integer(0..(elem(shape, axis) - 1)))
    map(fixed_list(columns), &Nx.stack(&1, axis: -1))
  end

  property "gather/3" do
    check all {type, index_type} <- {type(), integer_type()},
              shape <- shape(1..4),
              axes <- map(axes(shape), &Enum.sort/1),
              axes <- constant(if axes == [], do: Nx.axes(shape), else: axes),
              batch <- shape(0..2),
              tensor <- tensor(type, shape),
              indices <- coordinates(index_type, shape, axes, batch) do
      compare(&Nx.gather(&1, &2, axes: axes), [tensor, indices])
    end
  end

  for function <- [:indexed_add, :indexed_put] do
    property "#{function}/4" do
      check all {type, index_type} <- {type(), integer_type()},
                shape <- shape(1..4),
                axes <- map(axes(shape), &Enum.sort/1),
                axes <- constant(if axes == [], do: Nx.axes(shape), else: axes),
                count <- integer(1..4),
                tensor <- tensor(type, shape, small(type)),
                indices <- coordinates(index_type, shape, axes, {count}),
                kept <-
                  constant(for axis <- Nx.axes(shape), axis not in axes, do: elem(shape, axis)),
                updates <- tensor(type, List.to_tuple([count | kept]), small(type)) do
        function = &apply(Nx, unquote(function), [&1, &2, &3, [axes: axes]])
        compare(function, [tensor, indices, updates], scale: 16.0)
      end
    end
  end

  property "take/3 and take_along_axis/3" do
    check all {type, index_type} <- {type(), integer_type()},
              shape <- shape(1..4),
              axis <- integer(0..(tuple_size(shape) - 1)),
              indices <- shape(0..2),
              along <- integer(1..4),
              element <- constant(integer(0..(elem(shape, axis) - 1))),
              tensor <- named(tensor(type, shape)),
              indices <- tensor(index_type, indices, element),
              along <- tensor(index_type, put_elem(shape, axis, along), element) do
      compare(&Nx.take(&1, &2, axis: axis), [tensor, indices])
      compare(&Nx.take_along_axis(&1, &2, axis: axis), [tensor, along])
    end
  end

  ## Reductions

  for function <- [:sum, :product, :mean, :variance, :reduce_max, :reduce_min] do
    property "#{function}/2" do
      check all type <- type(),
                shape <- shape(),
                axes <- axes(shape),
                keep_axes <- boolean(),
                tensor <- named(tensor(type, shape, few(unquote(function), type))) do
        options = [keep_axes: keep_axes] ++ if(axes == [], do: [], else: [axes: axes])
        compare(&apply(Nx, unquote(function), [&1, options]), [tensor], ulps: 8, scale: 64.0)
      end
    end
  end

  defp few(function, type) when function in [:reduce_max, :reduce_min], do: element(type)

  # 81 elements are too many for a product of larger numbers.
  defp few(:product, {kind, _}) when kind in [:bf, :f],
    do: member_of([-2.0, -1.0, -0.5, 1.0, 2.0])

  defp few(:variance, type), do: small(type)
  defp few(_function, {kind, _}) when kind in [:bf, :f], do: finite()
  defp few(_function, type), do: element(type)

  # Of a scalar, Nx only converts the type.
  for function <- [:all, :any] do
    property "#{function}/2" do
      check all type <- type(),
                shape <- shape(1..4),
                axes <- axes(shape),
                keep_axes <- boolean(),
                tensor <- named(tensor(type, shape)) do
        options = [keep_axes: keep_axes] ++ if(axes == [], do: [], else: [axes: axes])
        compare(&apply(Nx, unquote(function), [&1, options]), [tensor])
      end
    end
  end

  for function <- [:argmax, :argmin] do
    property "#{function}/2" do
      check all type <- type(),
                shape <- shape(1..4),
                axis <- one_of([constant(nil), axis(shape)]),
                keep_axis <- boolean(),
                tie_break <- member_of([:low, :high]),
                tensor <- named(tensor(type, shape, small(type))) do
        options = [axis: axis, keep_axis: keep_axis, tie_break: tie_break]
        compare(&apply(Nx, unquote(function), [&1, options]), [tensor])
      end
    end
  end

  for function <- [:sort, :argsort] do
    property "#{function}/2" do
      check all type <- type(),
                shape <- shape(1..4),
                axis <- axis(shape),
                direction <- member_of([:asc, :desc]),
                tensor <- named(tensor(type, shape)) do
        options = [axis: axis, direction: direction, stable: true]
        compare(&apply(Nx, unquote(function), [&1, options]), [tensor])
      end
    end
  end

  property "top_k/2, median/2 and mode/2" do
    check all type <- type(),
              shape <- shape(1..3),
              count <- integer(1..elem(shape, tuple_size(shape) - 1)),
              tensor <- tensor(type, shape, small(type)) do
      compare(&Nx.top_k(&1, k: count), [tensor])
      compare(&Nx.median(&1, axis: 0), [tensor])
      compare(&Nx.mode(&1, axis: 0), [tensor])
    end
  end

  for kind <- [:sum, :product, :max, :min] do
    property "cumulative_#{kind}/2" do
      check all type <- type(),
                shape <- shape(1..4),
                axis <- axis(shape),
                reverse <- boolean(),
                tensor <- named(tensor(type, shape, small(type))) do
        options = [axis: axis, reverse: reverse]
        function = &apply(Nx, unquote(:"cumulative_#{kind}"), [&1, options])
        compare(function, [tensor], ulps: 4, scale: 16.0)
      end
    end
  end

  ## Windows

  # The window and the options of its walk, such that it fits.
  defp window(shape) do
    gen all window <- each_axis(shape, &integer(1..&1)),
            strides <- each_axis(shape, fn _ -> integer(1..3) end),
            pairs <- each_axis(shape, fn _ -> {integer(0..2), integer(0..2)} end),
            padding <- member_of([:valid, :same, pairs]) do
      {List.to_tuple(window), [strides: strides, padding: padding]}
    end
  end

  for kind <- [:sum, :product, :max, :min, :mean] do
    property "window_#{kind}/3" do
      check all type <- type(),
                shape <- shape(1..4),
                {window, options} <- window(shape),
                dilations <-
                  each_axis(window, fn size -> integer(1..if(size > 2, do: 1, else: 2)) end),
                tensor <- named(tensor(type, shape, small(type))) do
        dilated = Enum.zip_with(Tuple.to_list(window), dilations, &((&1 - 1) * &2 + 1))
        fits? = Enum.all?(Enum.zip_with(dilated, Tuple.to_list(shape), &(&1 <= &2)))
        options = if fits?, do: [{:window_dilations, dilations} | options], else: options
        function = &apply(Nx, unquote(:"window_#{kind}"), [&1, window, options])
        compare(function, [tensor], ulps: 8, scale: 16.0)
      end
    end
  end

  for function <- [:window_scatter_max, :window_scatter_min] do
    property "#{function}/5" do
      check all type <- type(),
                shape <- shape(1..4),
                {window, options} <- window(shape),
                # Which of equal elements gets the value is no rule of Nx.
                elements <- shuffle(Enum.to_list(1..Tuple.product(shape))),
                source <- constant(source_shape(shape, window, options)),
                source <- tensor(type, source, small(type)),
                initial <- small(type) do
        tensor = elements |> Nx.tensor(type: type, backend: Nx.BinaryBackend) |> Nx.reshape(shape)
        initial = Nx.tensor(initial, type: type, backend: Nx.BinaryBackend)
        function = &apply(Nx, unquote(function), [&1, &2, &3, window, options])
        compare(function, [tensor, source, initial], scale: 64.0)
      end
    end
  end

  defp source_shape(shape, window, options) do
    Nx.iota(shape, backend: Nx.BinaryBackend) |> Nx.window_max(window, options) |> Nx.shape()
  end

  ## Products

  # Sizes of the axes of each kind, and an order of the axes of either side.
  defp contraction do
    sizes = list_of(integer(1..3), max_length: 2)

    gen all batch <- list_of(integer(1..3), max_length: 1),
            contracted <- sizes,
            left <- sizes,
            right <- sizes,
            left <- side(length(batch), contracted, left),
            right <- side(length(batch), contracted, right) do
      {batch, left, right}
    end
  end

  defp side(batched, contracted, free) do
    places = Enum.with_index(contracted ++ free)

    map(shuffle(places), fn places ->
      order = Enum.map(places, &elem(&1, 1))

      axes =
        for {_, at} <- Enum.with_index(contracted),
            do: batched + Enum.find_index(order, &(&1 == at))

      {Enum.map(places, &elem(&1, 0)), axes}
    end)
  end

  property "dot/6" do
    check all {left_type, right_type} <- {type(), type()},
              {batch, {left, left_axes}, {right, right_axes}} <- contraction(),
              left <- tensor(left_type, List.to_tuple(batch ++ left), small(left_type)),
              right <- tensor(right_type, List.to_tuple(batch ++ right), small(right_type)) do
      batched = if batch == [], do: [], else: [0]
      function = &Nx.dot(&1, left_axes, batched, &2, right_axes, batched)
      compare(function, [left, right], ulps: 4, scale: 128.0)
    end
  end

  property "dot/2 of matrices of any size" do
    check all type <- float_type(),
              [rows, depth, columns] <- list_of(integer(1..40), length: 3),
              seed <- integer(0..1000),
              max_runs: 25 do
      [left, right] =
        for shape <- [{rows, depth}, {depth, columns}] do
          shape
          |> Nx.iota(type: type, backend: Nx.BinaryBackend)
          |> Nx.add(seed)
          |> Nx.remainder(7)
          |> Nx.subtract(3)
        end

      compare(&Nx.dot/2, [left, right], ulps: 4, scale: 9.0 * depth)
    end
  end

  property "conv/3" do
    check all type <- type(),
              spatial <- list_of(integer(1..5), min_length: 1, max_length: 2),
              kernel <- fixed_list(Enum.map(spatial, &integer(1..min(&1, 3)))),
              {feature_groups, batch_groups} <- member_of([{1, 1}, {2, 1}, {3, 1}, {1, 2}]),
              {batch, inputs, outputs} <- {integer(1..2), integer(1..2), integer(1..2)},
              groups <- constant(feature_groups * batch_groups),
              rank <- constant(length(spatial) + 2),
              [input_axes, kernel_axes, output_axes] <-
                list_of(shuffle(Enum.to_list(0..(rank - 1))), length: 3),
              input <-
                laid_out(
                  type,
                  [batch * batch_groups, inputs * feature_groups | spatial],
                  input_axes
                ),
              kernel <- laid_out(type, [outputs * groups, inputs | kernel], kernel_axes),
              strides <- list_of(integer(1..2), length: rank - 2),
              input_dilation <- list_of(integer(1..2), length: rank - 2),
              kernel_dilation <- list_of(integer(1..2), length: rank - 2),
              pairs <- list_of({integer(2..4), integer(0..4)}, length: rank - 2),
              max_runs: 150 do
      options = [
        strides: strides,
        padding: pairs,
        input_dilation: input_dilation,
        kernel_dilation: kernel_dilation,
        feature_group_size: feature_groups,
        batch_group_size: batch_groups,
        input_permutation: input_axes,
        kernel_permutation: kernel_axes,
        output_permutation: output_axes
      ]

      compare(&Nx.conv(&1, &2, options), [input, kernel], ulps: 4, scale: 256.0)
    end
  end

  # A tensor whose axes, taken in the order of the permutation, have the sizes.
  defp laid_out(type, sizes, permutation) do
    order =
      Enum.map(0..(length(sizes) - 1), fn axis -> Enum.find_index(permutation, &(&1 == axis)) end)

    tensor(type, order |> Enum.map(&Enum.at(sizes, &1)) |> List.to_tuple(), small(type))
  end

  for padding <- [:valid, :same] do
    property "conv/3 with padding #{padding}" do
      check all type <- float_type(),
                input <- tensor(type, {2, 3, 5, 4}, finite()),
                kernel <- tensor(type, {2, 3, 3, 2}, finite()),
                strides <- list_of(integer(1..2), length: 2),
                max_runs: 20 do
        options = [strides: strides, padding: unquote(padding)]
        compare(&Nx.conv(&1, &2, options), [input, kernel], ulps: 4, scale: 256.0)
      end
    end
  end

  ## Views and sizes

  @of_matrices [
    exp: quote(do: &Nx.exp/1),
    add: quote(do: &Nx.add(&1, Nx.reverse(&1))),
    select: quote(do: &Nx.select(Nx.greater(&1, 0), &1, Nx.negate(&1))),
    as_type: quote(do: &Nx.as_type(&1, :f16)),
    reshape: quote(do: &Nx.flatten/1),
    pad: quote(do: &Nx.pad(&1, 0, [{1, -1, 0}, {-1, 0, 1}])),
    concatenate: quote(do: &Nx.concatenate([&1, &1], axis: 1)),
    put_slice: quote(do: &Nx.put_slice(&1, [1, 1], Nx.broadcast(9, {2, 2}))),
    gather: quote(do: &Nx.gather(&1, Nx.tensor([[0, 1], [2, 0]]))),
    indexed_add: quote(do: &Nx.indexed_add(&1, Nx.tensor([[0, 1], [0, 1]]), Nx.tensor([1, 2]))),
    take: quote(do: &Nx.take(&1, Nx.tensor([2, 0, 1]), axis: 1)),
    sum_rows: quote(do: &Nx.sum(&1, axes: [1])),
    sum_columns: quote(do: &Nx.sum(&1, axes: [0])),
    sum: quote(do: &Nx.sum/1),
    argmax: quote(do: &Nx.argmax(&1, axis: 0)),
    sort_rows: quote(do: &Nx.sort(&1, axis: 1)),
    sort_columns: quote(do: &Nx.argsort(&1, axis: 0, stable: true)),
    cumulative_sum: quote(do: &Nx.cumulative_sum(&1, axis: 0)),
    window_sum: quote(do: &Nx.window_sum(&1, {2, 3})),
    window_max: quote(do: &Nx.window_max(&1, {2, 2}, strides: [2, 1], padding: :same)),
    dot: quote(do: &Nx.dot(&1, [1], &1, [1])),
    conv: quote(do: &Nx.conv(Nx.reshape(&1, {1, 1, :auto, 3}), Nx.iota({2, 1, 2, 2})))
  ]

  for {name, function} <- @of_matrices do
    property "#{name} of a view" do
      check all type <- member_of([{:f, 32}, {:s, 16}, {:f, 64}, {:u, 8}]),
                tensor <- tensor(type, {3, 8}, small(type)),
                row <- tensor(type, {3}, small(type)),
                max_runs: 10 do
        function = unquote(function)

        strided =
          &(&1 |> Nx.transpose() |> Nx.slice([1, 0], [7, 3], strides: [2, 1]) |> function.())

        compare(strided, [tensor], ulps: 4, scale: 128.0)
        compare(&(&1 |> Nx.broadcast({4, 3}) |> function.()), [row], ulps: 4, scale: 128.0)
      end
    end

    # More than a normal scheduler or one thread takes, and no multiple of a vector's width.
    test "#{name} of many elements" do
      many = Nx.iota({3001, 3}, type: :f32, backend: Nx.BinaryBackend)
      many = many |> Nx.multiply(7) |> Nx.remainder(61) |> Nx.subtract(30) |> Nx.divide(8)
      many = if unquote(name) == :dot, do: many[0..200], else: many
      compare(unquote(function), [many], ulps: 4, scale: 4096.0)
    end
  end

  ## Random numbers

  # Nx takes -1 + 2⁻¹¹ for the lowest bf16 above -1: rounded to the nearest bf16, that is -1, of
  # which `normal` makes -Inf.
  property "Nx.Random" do
    check all seed <- tensor({:s, 64}, {}, integer(0..0xFFFFFFFF)),
              type <- member_of([{:f, 16}, {:f, 32}, {:f, 64}]),
              integer <- member_of([{:s, 32}, {:u, 8}, {:u, 64}]),
              shape <- shape(0..3),
              max_runs: 10 do
      for function <- [
            &Nx.Random.uniform(&1, -1.0, 2.0, shape: shape, type: type),
            &Nx.Random.normal(&1, 0.0, 1.0, shape: shape, type: type),
            &Nx.Random.randint(&1, 0, 100, shape: shape, type: integer),
            &Nx.Random.shuffle(&1, Nx.iota({7})),
            &Nx.Random.choice(&1, Nx.iota({7}), samples: 3, replace: false)
          ] do
        compare(&function.(Nx.Random.key(&1)), [seed], ulps: ulps(:erf_inv, type), scale: 4.0)
      end
    end
  end

  ## Copies

  property "data goes in and comes out unchanged" do
    check all type <- type(), shape <- shape(), tensor <- named(tensor(type, shape)) do
      copy = Nx.backend_copy(tensor, ExBurn.Backend)
      assert_same(copy, tensor, ulps: 0)
      assert Nx.to_binary(copy) == Nx.to_binary(tensor)
      assert Nx.to_binary(copy, limit: 1) == Nx.to_binary(tensor, limit: 1)
      assert Nx.backend_copy(copy, Nx.BinaryBackend) == tensor
      assert Nx.backend_transfer(copy, Nx.BinaryBackend) == tensor
      assert Nx.backend_deallocate(copy) == :already_deallocated
    end
  end

  describe "values that Nx refuses" do
    defp out_of_bounds(index, axis, shape) do
      "index #{index} is out of bounds for axis #{axis} in shape #{inspect(shape)}"
    end

    test "an index out of range names itself and its axis" do
      tensor = Nx.iota({2, 3})

      for {message, function} <- [
            {out_of_bounds(5, 1, {2, 3}), &Nx.gather(&1, Nx.tensor([[0, 5]]))},
            {out_of_bounds(-1, 0, {2, 3}), &Nx.gather(&1, Nx.tensor([[1, 0], [-1, 0]]))},
            {out_of_bounds(3, 1, {2, 3}), &Nx.gather(&1, Nx.tensor([[3]]), axes: [1])},
            {out_of_bounds(3, 1, {2, 3}), &Nx.take(&1, Nx.tensor([0, 3]), axis: 1)},
            {out_of_bounds(2, 0, {2, 3}),
             &Nx.take_along_axis(&1, Nx.tensor([[0, 2, 0]]), axis: 0)},
            {out_of_bounds(2, 0, {2, 3}),
             &Nx.indexed_add(&1, Nx.tensor([[2, 0]]), Nx.tensor([9]))},
            {out_of_bounds(4, 1, {2, 3}),
             &Nx.indexed_put(&1, Nx.tensor([[0, 4]]), Nx.tensor([9]))}
          ] do
        assert_raise ArgumentError, message, fn -> function.(tensor) end
      end
    end

    test "a negative shift" do
      for {name, function} <- [left: &Nx.left_shift/2, right: &Nx.right_shift/2] do
        assert_raise ArgumentError, "cannot #{name} shift by -3", fn ->
          function.(Nx.tensor([1, 2]), Nx.tensor([1, -3]))
        end
      end
    end

    test "the angle of numbers with an imaginary part" do
      assert_raise ArithmeticError, fn -> Nx.atan2(Complex.new(1, 2), 3) end
    end
  end

  test "to_batched/3 makes batches as they are asked for" do
    batches = Nx.to_batched(Nx.iota({7, 2}), 3)
    refute is_list(batches)
    assert Enum.map(batches, &Nx.to_list/1) |> List.last() == [[12, 13], [0, 1], [2, 3]]
    assert Enum.count(Nx.to_batched(Nx.iota({7, 2}), 3, leftover: :discard)) == 2
  end
end
