defmodule ExBurn.Conformance.Layout do
  @moduledoc "Where the elements lie: shapes, orders of axes, padding, joins and slices."

  use ExBurn.Conformance.Family

  @impl true
  def operations do
    [
      operation(:reshape, &reshape/1),
      operation(:squeeze, &squeeze/1),
      operation(:transpose, &transpose/1),
      operation(:broadcast, &broadcast/1),
      operation(:pad, &pad/1),
      operation(:reverse, &reverse/1),
      operation(:concatenate, &concatenate/1),
      operation(:stack, &stack/1),
      operation(:slice, &slice/1),
      operation(:put_slice, &put_slice/1)
    ]
  end

  defp reshape(type) do
    gen all shape <- shape(),
            operand <- vectorized(named(operand(type, shape))),
            to <- shuffle(factors(Tuple.product(shape))) do
      %Case{call: {Nx, :reshape, [operand, List.to_tuple(to)]}}
    end
  end

  defp factors(1), do: [1]

  defp factors(size) do
    divisor = Enum.find(2..size, &(rem(size, &1) == 0))
    [divisor | factors(div(size, divisor))]
  end

  defp squeeze(type) do
    gen all shape <- small_shape(0..4, 1..2),
            operand <- vectorized(named(operand(type, shape))),
            kept <- list_of(boolean(), length: tuple_size(shape)) do
      ones = for {axis, false} <- Enum.zip(Nx.axes(shape), kept), elem(shape, axis) == 1, do: axis
      %Case{call: {Nx, :squeeze, [operand, [axes: ones]]}}
    end
  end

  defp transpose(type) do
    gen all shape <- shape(0..4),
            operand <- vectorized(named(operand(type, shape))),
            axes <- shuffle(Nx.axes(shape)) do
      %Case{call: {Nx, :transpose, [operand, [axes: axes]]}}
    end
  end

  defp broadcast(type) do
    gen all to <- shape(),
            rank <- integer(0..tuple_size(to)),
            axes <- map(shuffle(Nx.axes(to)), &(&1 |> Enum.take(rank) |> Enum.sort())),
            kept <- list_of(boolean(), length: rank),
            sizes = Enum.zip_with(axes, kept, &if(&2, do: elem(to, &1), else: 1)),
            operand <- operand(type, List.to_tuple(sizes)) do
      %Case{call: {Nx, :broadcast, [operand, to, [axes: axes]]}}
    end
  end

  defp pad(type) do
    gen all shape <- small_shape(0..3),
            operand <- vectorized(named(operand(type, shape))),
            value <- operand(type, {}),
            padding <- each_axis(shape, &padding/1) do
      %Case{call: {Nx, :pad, [operand, value, padding]}}
    end
  end

  # Below zero, it takes elements away, of which one must be left.
  defp padding(size) do
    gen all interior <- integer(0..2),
            low <- integer(-2..3),
            high <- integer(-2..3),
            length = size + (size - 1) * interior do
      if length + low + high >= 1 and min(low, 0) + min(high, 0) > -length,
        do: {low, high, interior},
        else: {max(low, 0), max(high, 0), interior}
    end
  end

  defp reverse(type) do
    gen all shape <- shape(0..4),
            operand <- vectorized(named(operand(type, shape))),
            axes <- axes(shape) do
      %Case{call: {Nx, :reverse, [operand, [axes: axes]]}}
    end
  end

  defp concatenate(type) do
    gen all shape <- shape(1..3),
            axis <- integer(0..(tuple_size(shape) - 1)),
            sizes <- list_of(integer(1..4), min_length: 1, max_length: 3),
            others <- list_of(joined_type(type), length: length(sizes) - 1),
            operands <- joined([type | others], Enum.map(sizes, &put_elem(shape, axis, &1))) do
      %Case{call: {Nx, :concatenate, [operands, [axis: axis]]}}
    end
  end

  defp stack(type) do
    gen all shape <- shape(),
            count <- integer(1..3),
            axis <- integer(0..tuple_size(shape)),
            others <- list_of(joined_type(type), length: count - 1),
            operands <- joined([type | others], List.duplicate(shape, count)) do
      %Case{call: {Nx, :stack, [operands, [axis: axis]]}}
    end
  end

  # What is rounded when types meet isn't the subject.
  defp joined([type | _] = types, shapes) do
    element = if Enum.uniq(types) == [type], do: &element/1, else: &exact_positive/1

    Enum.zip(types, shapes)
    |> Enum.map(fn {type, shape} -> operand(type, shape, element.(type)) end)
    |> fixed_list()
  end

  defp slice(type) do
    gen all shape <- shape(0..4),
            operand <- vectorized(named(operand(type, shape))),
            lengths <- each_axis(shape, &integer(1..&1)),
            starts <- starts(shape),
            strides <- each_axis(shape, &integer(1..max(&1, 2))) do
      %Case{call: {Nx, :slice, [operand, starts, lengths, [strides: strides]]}}
    end
  end

  # The reference has none of scalars.
  defp put_slice(type) do
    gen all shape <- shape(1..4),
            operand <- named(operand(type, shape)),
            sizes <- each_axis(shape, &integer(1..&1)),
            starts <- starts(shape),
            slice <- operand(type, List.to_tuple(sizes)) do
      %Case{call: {Nx, :put_slice, [operand, starts, slice]}}
    end
  end

  # As numbers or as tensors; past the end they are clamped.
  defp starts(shape) do
    one_of([
      each_axis(shape, &integer(0..&1)),
      each_axis(shape, fn size ->
        bind(index_type(), &operand(&1, {}, integer(0..(size + 1))))
      end)
    ])
  end
end
