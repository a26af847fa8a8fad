defmodule ExBurn.Conformance.Product do
  @moduledoc """
  Sums of products: dot and convolution, of elements such that all sums are exact.

  Only the zeros that sums begin with, if with any, tell the signs of those they end with.
  """

  use ExBurn.Conformance.Family

  @impl true
  def operations, do: [operation(:dot, &dot/1), operation(:conv, &conv/1)]

  ## Dot

  # A size of each axis that is multiplied over, shared, or of one operand alone.
  defp dot(type) do
    gen all batch <- sizes(1..3, 2),
            contracted <- one_of([sizes(1..4, 2), map(integer(17..70), &[&1])]),
            {left_shape, left_axes} <- shuffled(batch, contracted),
            {right_shape, right_axes} <- shuffled(batch, contracted),
            [left, right] <- factors(type, [left_shape, right_shape]) do
      batch_axes = Enum.take(Nx.axes(left_shape), length(batch))

      %Case{
        call: {Nx, :dot, [left, left_axes, batch_axes, right, right_axes, batch_axes]},
        zeros: :equal
      }
    end
  end

  # A shape that has the batch first and all else in any order, and where the contracted sizes are.
  defp shuffled(batch, contracted) do
    gen all free <- sizes(1..4, 2),
            contracted = Enum.with_index(contracted),
            axes <- shuffle(contracted ++ Enum.map(free, &{&1, :free})) do
      sizes = Enum.map(axes, fn {size, _} -> size end)
      places = for axis <- contracted, do: length(batch) + Enum.find_index(axes, &(&1 == axis))
      {List.to_tuple(batch ++ sizes), places}
    end
  end

  defp sizes(range, most), do: list_of(integer(range), max_length: most)

  defp factors(type, shapes) do
    gen all other <- joined_type(type),
            element = if(other == type, do: &summand/1, else: &exact_positive/1),
            operands <-
              fixed_list(
                Enum.zip_with([type, other], shapes, fn type, shape ->
                  operand(type, shape, element.(type))
                end)
              ) do
      operands
    end
  end

  ## Convolution

  # Its results are floats, of integers too.
  defp conv(type) do
    gen all spatial <- list_of(spatial(), min_length: 1, max_length: 2),
            {feature_groups, batch_groups} <- member_of([{1, 1}, {1, 1}, {2, 1}, {3, 1}, {1, 2}]),
            batch <- integer(1..2),
            channels <- integer(1..2),
            filters <- integer(1..2),
            rank = length(spatial) + 2,
            sizes = Enum.map(spatial, & &1.size),
            kernel_sizes = Enum.map(spatial, & &1.kernel),
            {input, input_permutation} <-
              permuted([batch * batch_groups, channels * feature_groups | sizes]),
            {kernel, kernel_permutation} <-
              permuted([filters * feature_groups * batch_groups, channels | kernel_sizes]),
            output_permutation <- shuffle(Enum.to_list(0..(rank - 1))),
            other <- joined_type(type),
            element = if(other == type, do: &small/1, else: &exact_positive/1),
            input <- operand(type, input, element.(type)),
            kernel <- operand(other, kernel, element.(other)) do
      options = [
        strides: Enum.map(spatial, & &1.stride),
        padding: Enum.map(spatial, & &1.padding),
        input_dilation: Enum.map(spatial, & &1.input_dilation),
        kernel_dilation: Enum.map(spatial, & &1.kernel_dilation),
        feature_group_size: feature_groups,
        batch_group_size: batch_groups,
        input_permutation: input_permutation,
        kernel_permutation: kernel_permutation,
        output_permutation: output_permutation
      ]

      %Case{call: {Nx, :conv, [input, kernel, options]}, zeros: :equal}
    end
  end

  # One axis: how a kernel that fits goes over it.
  defp spatial do
    gen all size <- integer(1..6),
            input_dilation <- integer(1..2),
            kernel_dilation <- integer(1..2),
            padding <- {integer(0..2), integer(0..2)},
            dilated = (size - 1) * input_dilation + 1,
            kernel <- integer(1..(div(dilated - 1, kernel_dilation) + 1)),
            kernel = min(kernel, 4),
            stride <- integer(1..3) do
      %{
        size: size,
        kernel: kernel,
        stride: stride,
        padding: padding,
        input_dilation: input_dilation,
        kernel_dilation: kernel_dilation
      }
    end
  end

  # A shape of which the permutation is the given one.
  defp permuted(sizes) do
    gen all permutation <- shuffle(Enum.to_list(0..(length(sizes) - 1))) do
      shape = permutation |> Enum.zip(sizes) |> Enum.sort() |> Enum.map(&elem(&1, 1))
      {List.to_tuple(shape), permutation}
    end
  end
end
