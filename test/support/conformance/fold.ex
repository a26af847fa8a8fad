defmodule ExBurn.Conformance.Fold do
  @moduledoc "Reductions by a function of the caller."

  use ExBurn.Conformance.Family

  alias ExBurn.Conformance.{Places, Scalar}

  @impl true
  def operations do
    [operation(:reduce, &reduce/1), operation(:window_reduce, &window_reduce/1)]
  end

  defp reduce(type) do
    gen all shape <- small_shape(0..3, 1..3),
            operand <- named(operand(type, shape, unit(type))),
            initial <- operand(type, {}, unit(type)),
            reduced <- one_of([constant([]), map(axes(shape), &[axes: &1])]),
            keep? <- boolean(),
            {function, _} <- function(type) do
      %Case{call: {Nx, :reduce, [operand, initial, [keep_axes: keep?] ++ reduced, function]}}
    end
  end

  # The reference takes no type but its default ones here.
  defp window_reduce(type) do
    gen all shape <- small_shape(1..3, 1..3),
            operand <- named(operand(type, shape, unit(type))),
            initial <- operand(type, {}, unit(type)),
            windows <- each_axis(shape, &window/1),
            {function, scalar} <- function(type) do
      {sizes, options} = Places.arguments(windows)

      %Case{
        call: {Nx, :window_reduce, [operand, initial, sizes, options, function]},
        expected: fn -> folded(operand, hd(initial.elements), windows, scalar) end
      }
    end
  end

  defp window(size) do
    gen all dilation <- integer(1..2),
            window <- integer(1..(div(size - 1, dilation) + 1)),
            stride <- integer(1..2),
            padding <- {integer(0..1), integer(0..1)} do
      {window, stride, padding, dilation}
    end
  end

  # The initial value is also that of the padding.
  defp folded(operand, initial, windows, function) do
    at = operand.shape |> Places.all() |> Enum.zip(operand.elements) |> Map.new()
    shape = Places.shape(operand.shape, windows)

    elements =
      for place <- Places.all(shape) do
        place
        |> Places.under(windows)
        |> Enum.reduce(initial, &function.(Map.get(at, &1, initial), &2))
      end

    Operand.reference(%{operand | shape: shape, elements: elements})
  end

  # Those of integers wrap, those of floats are exact; some depend on the order.
  defp function({_, 8} = type) when type in [{:f, 8}, {:f8_e4m3fn, 8}], do: extreme()
  defp function({:c, _}), do: member_of([sum(), difference()])
  defp function(_type), do: one_of([extreme(), member_of([sum(), product(), difference()])])

  defp extreme, do: member_of([{&Nx.max/2, &Scalar.max/2}, {&Nx.min/2, &Scalar.min/2}])
  defp sum, do: {&Nx.add/2, &Scalar.add/2}
  defp product, do: {&Nx.multiply/2, &Scalar.multiply/2}
  defp difference, do: {&Nx.subtract/2, &Scalar.subtract/2}
end
