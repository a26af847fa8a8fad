defmodule ExBurn.Conformance.Fourier do
  @moduledoc "Discrete Fourier transforms, of any length and axis."

  use ExBurn.Conformance.Family

  alias ExBurn.Conformance.Axis

  @tolerance [tolerance: "8 ulps of the norm"]

  @impl true
  def operations do
    [
      operation(:fft, @tolerance, &along_axis(:fft, &1)),
      operation(:ifft, @tolerance, &along_axis(:ifft, &1)),
      operation(Nx.Block.FFT2, @tolerance, &along_axes(:fft2, &1)),
      operation(Nx.Block.IFFT2, @tolerance, &along_axes(:ifft2, &1)),
      operation(Nx.Block.RFFT, [types: reals()] ++ @tolerance, &along_axis(:rfft, &1)),
      operation(Nx.Block.IRFFT, @tolerance, &inverse_of_real/1)
    ]
  end

  defp along_axis(name, type) do
    gen all shape <- shape(1..3),
            operand <- vectorized(named(operand(type, shape, small(type)))),
            axis <- member_of(Nx.axes(shape)),
            length <- one_of([constant(nil), length()]) do
      options = if length, do: [axis: axis, length: length], else: [axis: axis]
      expected = operand |> complex() |> transform(name, axis, length)
      test(name, operand, options, expected)
    end
  end

  # Shorter or longer than the axis.
  defp length, do: one_of([constant(:power_of_two), integer(1..24)])

  defp along_axes(name, type) do
    gen all shape <- small_shape(2..3, 1..6),
            operand <- named(operand(type, shape, small(type))),
            [first, second] = axes <- map(shuffle(Nx.axes(shape)), &Enum.take(&1, 2)),
            lengths <- one_of([constant([nil, nil]), fixed_list([length(), length()])]) do
      one = if name == :fft2, do: :fft, else: :ifft
      options = if lengths == [nil, nil], do: [axes: axes], else: [axes: axes, lengths: lengths]

      expected =
        operand
        |> complex()
        |> transform(one, first, hd(lengths))
        |> transform(one, second, List.last(lengths))

      test(name, operand, options, expected)
    end
  end

  # The length is that of the result.
  defp inverse_of_real(type) do
    gen all shape <- small_shape(1..3, 3..9),
            operand <- named(operand(type, shape, small(type))),
            axis <- member_of(Nx.axes(shape)),
            length <- one_of([constant(nil), integer(4..24)]) do
      options = if length, do: [axis: axis, length: length], else: [axis: axis]
      length = length || 2 * (elem(shape, axis) - 1)
      expected = operand |> complex() |> Axis.map(axis, &real_inverse(&1, length))
      test(:irfft, operand, options, %{expected | type: Number.part(expected.type)})
    end
  end

  defp test(name, operand, options, expected) do
    norm = operand.elements |> Enum.sum_by(&square/1) |> :math.sqrt()

    %Case{
      call: {Nx, name, [operand, options]},
      expected: fn -> Operand.reference(expected) end,
      ulps: 8,
      scale: max(norm, 1.0)
    }
  end

  defp square({re, im}), do: re * re + im * im
  defp square(x), do: x * x

  # As the type of the result.
  defp complex(operand) do
    type =
      case operand.type do
        {:c, _} = type -> type
        {:f, 64} -> {:c, 128}
        _real -> {:c, 64}
      end

    %{operand | type: type, elements: Enum.map(operand.elements, &Number.complex/1)}
  end

  ## By the definition

  defp transform(operand, name, axis, length) do
    length = whole(length, elem(operand.shape, axis))
    Axis.map(operand, axis, &(&1 |> fit(length) |> transform(name)))
  end

  defp transform(elements, :fft), do: turned(elements, -1)

  defp transform(elements, :rfft),
    do: elements |> turned(-1) |> Enum.take(div(length(elements), 2) + 1)

  defp transform(elements, :ifft),
    do: elements |> turned(1) |> Enum.map(&over(&1, length(elements)))

  defp whole(nil, size), do: size
  defp whole(:power_of_two, size), do: Enum.find(Stream.iterate(1, &(2 * &1)), &(&1 >= size))
  defp whole(length, _size), do: length

  defp fit(elements, length) do
    Enum.take(elements, length) ++ List.duplicate({0.0, 0.0}, max(length - length(elements), 0))
  end

  # The half that is given makes a whole that is its own conjugate, turned around.
  defp real_inverse(elements, length) do
    half = fit(elements, div(length, 2) + 1)
    other = half |> Enum.slice(1..(length - length(half))//1) |> Enum.reverse()
    whole = half ++ Enum.map(other, fn {re, im} -> {re, -im} end)
    for {re, _im} <- transform(whole, :ifft), do: re
  end

  defp turned(elements, direction) do
    count = length(elements)
    elements = Enum.with_index(elements)

    for k <- 0..(count - 1) do
      elements
      |> Enum.map(fn {{re, im}, n} ->
        {cos, sin} = turn(direction * k * n, count)
        {re * cos - im * sin, re * sin + im * cos}
      end)
      |> pairwise_sum()
    end
  end

  # One by one, the roundings of as many sums would outweigh those of a fast transform.
  defp pairwise_sum([sum]), do: sum

  defp pairwise_sum(terms) do
    {left, right} = Enum.split(terms, div(length(terms), 2))
    {{left_re, left_im}, {right_re, right_im}} = {pairwise_sum(left), pairwise_sum(right)}
    {left_re + right_re, left_im + right_im}
  end

  # Cosine and sine of a part of a turn: those of its distance from a quarter, which are exact at it.
  defp turn(part, count) do
    quarters = round(4 * part / count)
    angle = :math.pi() / 2 * (4 * part - quarters * count) / count
    {cos, sin} = {:math.cos(angle), :math.sin(angle)}

    case Integer.mod(quarters, 4) do
      0 -> {cos, sin}
      1 -> {-sin, cos}
      2 -> {-cos, -sin}
      3 -> {sin, -cos}
    end
  end

  defp over({re, im}, count), do: {re / count, im / count}
end
