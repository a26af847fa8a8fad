defmodule ExBurn.Conformance.Indexed do
  @moduledoc "Elements found or changed by their indices."

  use ExBurn.Conformance.Family

  @impl true
  def operations do
    [
      operation(:gather, &gather/1),
      operation(Nx.Block.Take, &take/1),
      operation(Nx.Block.TakeAlongAxis, &take_along_axis/1),
      operation(:indexed_add, &updated(:indexed_add, &1, summand(&1))),
      operation(:indexed_put, &updated(:indexed_put, &1, element(&1)))
    ]
  end

  defp gather(type) do
    gen all shape <- small_shape(1..4),
            operand <- named(operand(type, shape)),
            axes <- some_axes(shape),
            outer <- small_shape(0..2),
            indices <- coordinates(outer, shape, axes) do
      %Case{call: {Nx, :gather, [operand, indices, [axes: axes]]}}
    end
  end

  defp take(type) do
    gen all shape <- small_shape(1..3),
            operand <- named(operand(type, shape)),
            axis <- member_of(Nx.axes(shape)),
            outer <- small_shape(0..2),
            indices <- indices(outer, elem(shape, axis)) do
      %Case{call: {Nx, :take, [operand, indices, [axis: axis]]}}
    end
  end

  defp take_along_axis(type) do
    gen all shape <- small_shape(1..3),
            operand <- named(operand(type, shape)),
            axis <- member_of(Nx.axes(shape)),
            size <- integer(1..4),
            indices <- indices(put_elem(shape, axis, size), elem(shape, axis)) do
      %Case{call: {Nx, :take_along_axis, [operand, indices, [axis: axis]]}}
    end
  end

  # Several updates may be of one element. Of the names, the reference permutes some.
  defp updated(name, type, element) do
    gen all shape <- small_shape(1..3),
            operand <- operand(type, shape, element),
            axes <- some_axes(shape),
            count <- integer(1..5),
            indices <- coordinates({count}, shape, axes),
            inner = for(axis <- Nx.axes(shape), axis not in axes, do: elem(shape, axis)),
            updates <- operand(type, List.to_tuple([count | inner]), element) do
      %Case{call: {Nx, name, [operand, indices, updates, [axes: axes]]}}
    end
  end

  defp some_axes(shape) do
    gen all axes <- shuffle(Nx.axes(shape)), count <- integer(1..tuple_size(shape)) do
      axes |> Enum.take(count) |> Enum.sort()
    end
  end

  defp coordinates(outer, shape, axes) do
    gen all type <- index_type(),
            rows <-
              list_of(fixed_list(for axis <- axes, do: integer(0..(elem(shape, axis) - 1))),
                length: Tuple.product(outer)
              ),
            shape = Tuple.insert_at(outer, tuple_size(outer), length(axes)),
            operand <- operand(type, shape, constant(0)) do
      %{operand | elements: Enum.concat(rows)}
    end
  end
end
