defmodule ExBurn.Conformance.Window do
  @moduledoc "What lies under a window at each of its places."

  use ExBurn.Conformance.Family

  alias ExBurn.Conformance.Places

  @impl true
  def operations do
    [
      operation(:window_sum, &cases(:window_sum, &1, summand(&1))),
      operation(:window_product, &cases(:window_product, &1, factor(&1))),
      operation(
        :window_max,
        [types: reals()],
        &cases(:window_max, &1, element(&1), zeros: :equal)
      ),
      operation(
        :window_min,
        [types: reals()],
        &cases(:window_min, &1, element(&1), zeros: :equal)
      ),
      operation(:window_scatter_max, [types: reals()], &scatter(:window_scatter_max, &1)),
      operation(:window_scatter_min, [types: reals()], &scatter(:window_scatter_min, &1))
    ]
  end

  # Integers wrap; the products of the floats are exact.
  defp factor({kind, _} = type) when kind in [:s, :u], do: element(type)
  defp factor({:c, _} = type), do: unit(type)
  defp factor(_float), do: member_of([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])

  defp cases(name, type, element, case_options \\ []) do
    gen all shape <- small_shape(1..4),
            operand <- named(operand(type, shape, element)),
            windows <- each_axis(shape, &window/1) do
      {sizes, options} = Places.arguments(windows)
      struct!(%Case{call: {Nx, name, [operand, sizes, options]}}, case_options)
    end
  end

  # With the default padding, or a list of some. A window must never lie in padding alone: what is
  # the least number of a type of less than a byte isn't so of the reference's.
  defp window(size) do
    gen all dilation <- integer(1..2),
            window <- integer(1..(div(size - 1, dilation) + 1)),
            stride <- integer(1..3),
            low <- integer(0..padding(window, dilation)),
            high <- integer(0..padding(window, dilation)) do
      {window, stride, {low, high}, dilation}
    end
  end

  defp padding(window, 1), do: window - 1
  defp padding(_window, _dilation), do: 0

  # Small elements, so that some tie.
  defp scatter(name, type) do
    gen all shape <- small_shape(1..3),
            element <- member_of([summand(type), unit(type)]),
            operand <- operand(type, shape, element),
            windows <- each_axis(shape, &window/1),
            windows = Enum.map(windows, &put_elem(&1, 3, 1)),
            initial <- operand(type, {}, small(type)),
            source <- operand(type, Places.shape(shape, windows), small(type)) do
      {sizes, options} = Places.arguments(windows)
      options = Keyword.take(options, [:strides, :padding])

      %Case{
        call: {Nx, name, [operand, source, initial, sizes, options]},
        expected: fn -> scattered(name, operand, source, hd(initial.elements), windows) end
      }
    end
  end

  # Every value of the source is added where its window has its extreme: in the last place of
  # several, or nowhere if that is padding, which is the initial value.
  defp scattered(name, operand, source, initial, windows) do
    at = operand.shape |> Places.all() |> Enum.zip(operand.elements) |> Map.new()
    beats? = if name == :window_scatter_max, do: &>=/2, else: &<=/2

    sums =
      source.shape
      |> Places.all()
      |> Enum.zip(source.elements)
      |> Enum.reduce(%{}, fn {place, value}, sums ->
        {_, extreme} =
          place
          |> Places.under(windows)
          |> Enum.map(&{Map.get(at, &1, initial), &1})
          |> Enum.reduce(fn {x, _} = next, {best, _} = before ->
            if beats?.(x, best), do: next, else: before
          end)

        Map.update(sums, extreme, value, &(&1 + value))
      end)

    elements = for place <- Places.all(operand.shape), do: initial + Map.get(sums, place, 0)
    Operand.reference(%{operand | elements: elements})
  end
end
