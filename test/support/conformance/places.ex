defmodule ExBurn.Conformance.Places do
  @moduledoc """
  The places of a shape, and of windows over it: lists of coordinates, in the order of the elements.

  A window is a tuple for each axis: size, stride, low and high padding, dilation.
  """

  @doc "What the functions of `Nx` take of windows: their sizes and the options."
  def arguments(windows) do
    sizes = for {size, _, _, _} <- windows, do: size
    strides = for {_, stride, _, _} <- windows, do: stride
    padding = for {_, _, padding, _} <- windows, do: padding
    dilations = for {_, _, _, dilation} <- windows, do: dilation
    {List.to_tuple(sizes), [strides: strides, padding: padding, window_dilations: dilations]}
  end

  @doc "All places of a shape."
  def all(shape), do: shape |> Tuple.to_list() |> Enum.map(&(0..(&1 - 1))) |> product()

  @doc "How many places windows have along each axis of a shape."
  def shape(shape, windows) do
    sizes =
      Enum.zip_with(Tuple.to_list(shape), windows, fn size, {window, stride, padding, dilation} ->
        {low, high} = padding
        div(size + low + high - (window - 1) * dilation - 1, stride) + 1
      end)

    List.to_tuple(sizes)
  end

  @doc "The places under the windows at one of theirs, some of them in the padding."
  def under(place, windows) do
    Enum.zip_with(place, windows, fn index, {size, stride, {low, _high}, dilation} ->
      Enum.map(0..(size - 1), &(index * stride - low + &1 * dilation))
    end)
    |> product()
  end

  # All lists of one element of each, the last one the fastest.
  defp product([]), do: [[]]
  defp product([first | rest]), do: for(x <- first, tail <- product(rest), do: [x | tail])
end
