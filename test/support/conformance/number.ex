defmodule ExBurn.Conformance.Number do
  @moduledoc """
  Elements of every type to bits and back: what IEEE 754 and the OCP 8-bit formats say, where
  `Nx.BinaryBackend` truncates or misreads.

  An element is an integer, a float, `:nan`, `:infinity` or `:neg_infinity`; a complex one is a pair
  of them.
  """

  import Bitwise

  # Bits of the exponent and of the mantissa.
  @formats %{
    {:f, 8} => {5, 2},
    {:f8_e4m3fn, 8} => {4, 3},
    {:bf, 16} => {8, 7},
    {:f, 16} => {5, 10},
    {:f, 32} => {8, 23},
    {:f, 64} => {11, 52}
  }

  @type t :: number() | :nan | :infinity | :neg_infinity | {t(), t()}

  @doc "The type of the two parts of a complex number; any other type itself."
  def part({:c, bits}), do: {:f, div(bits, 2)}
  def part(type), do: type

  @doc "The elements that bits hold."
  def decode(bits, {:c, _} = type) do
    bits |> decode(part(type)) |> Enum.chunk_every(2) |> Enum.map(&List.to_tuple/1)
  end

  def decode(bits, {:s, size}), do: for(<<x::signed-native-size(size) <- bits>>, do: x)
  def decode(bits, {:u, size}), do: for(<<x::unsigned-native-size(size) <- bits>>, do: x)

  def decode(bits, {_, size} = type) do
    for <<pattern::unsigned-native-size(size) <- bits>>, do: float(pattern, type)
  end

  @doc "The bits of elements: integers wrap, floats are rounded to the nearest, ties to even."
  def encode(elements, {:c, _} = type) do
    elements |> Enum.flat_map(&Tuple.to_list(complex(&1))) |> encode(part(type))
  end

  def encode(elements, {kind, size}) when kind in [:s, :u] do
    for x <- elements, into: <<>>, do: <<x::native-size(size)>>
  end

  def encode(elements, {_, size} = type) do
    for x <- elements, into: <<>>, do: <<pattern(x, type)::native-size(size)>>
  end

  @doc "An element, or each of a list, as a type has it."
  def round_to(elements, type) when is_list(elements),
    do: elements |> encode(type) |> decode(type)

  def round_to(element, type), do: hd(round_to([element], type))

  @doc "An element as a pair."
  def complex({_, _} = pair), do: pair
  def complex(real), do: {real, 0.0}

  @doc "The float that a pattern of bits stands for."
  def float(pattern, {_, size} = type) do
    {_, mantissa_bits} = @formats[type]
    magnitude = pattern &&& (1 <<< (size - 1)) - 1

    number =
      cond do
        magnitude > largest(type) -> :nan
        magnitude == infinity(type) -> :infinity
        true -> finite(magnitude >>> mantissa_bits, magnitude &&& (1 <<< mantissa_bits) - 1, type)
      end

    if pattern == magnitude, do: number, else: negate(number)
  end

  # Below the least normal number, there is no implicit one.
  defp finite(0, mantissa, type), do: scale(mantissa, unit(1, type))

  defp finite(field, mantissa, type) do
    {_, mantissa_bits} = @formats[type]
    scale(mantissa + (1 <<< mantissa_bits), unit(field, type))
  end

  defp negate(:nan), do: :nan
  defp negate(:infinity), do: :neg_infinity
  defp negate(number), do: -number

  defp pattern(:nan, {:f8_e4m3fn, 8}), do: 0x7F

  # A quiet one, as hardware makes it.
  defp pattern(:nan, type) do
    {_, mantissa_bits} = @formats[type]
    infinity(type) + (1 <<< (mantissa_bits - 1))
  end

  defp pattern(:infinity, type), do: largest(type)
  defp pattern(:neg_infinity, type), do: sign(type) + largest(type)

  defp pattern(number, type) do
    {negative, integer, exponent} = parts(number)
    {_, mantissa_bits} = @formats[type]
    leading = exponent + length(Integer.digits(integer, 2)) - 1
    field = max(leading + bias(type), 1)
    units = shift_to_nearest(integer, unit(field, type) - exponent)
    # Patterns are in the order of what they stand for: rounding up may carry into the exponent.
    magnitude = if units == 0, do: 0, else: units + ((field - 1) <<< mantissa_bits)
    negative * sign(type) + min(magnitude, largest(type))
  end

  # Whether it is negative, and its magnitude as an integer and an exponent of 2.
  defp parts(integer) when is_integer(integer) do
    {if(integer < 0, do: 1, else: 0), abs(integer), 0}
  end

  defp parts(float) do
    case <<float::float-64>> do
      <<negative::1, 0::11, fraction::52>> -> {negative, fraction, -1074}
      <<negative::1, field::11, fraction::52>> -> {negative, fraction + (1 <<< 52), field - 1075}
    end
  end

  defp shift_to_nearest(integer, bits) when bits <= 0, do: integer <<< -bits

  defp shift_to_nearest(integer, bits) do
    {quotient, rest} = {integer >>> bits, integer &&& (1 <<< bits) - 1}
    half = 1 <<< (bits - 1)
    up? = rest > half or (rest == half and (quotient &&& 1) == 1)
    if up?, do: quotient + 1, else: quotient
  end

  defp sign({_, size}), do: 1 <<< (size - 1)

  # The pattern of what overflows become: `f8_e4m3fn`, which has no infinities, saturates.
  defp largest({:f8_e4m3fn, 8}), do: 0x7E
  defp largest(type), do: infinity(type)

  defp infinity({:f8_e4m3fn, 8}), do: nil

  defp infinity(type) do
    {exponent_bits, mantissa_bits} = @formats[type]
    ((1 <<< exponent_bits) - 1) <<< mantissa_bits
  end

  defp bias(type) do
    {exponent_bits, _} = @formats[type]
    (1 <<< (exponent_bits - 1)) - 1
  end

  # The exponent of the last place, given the field of the exponent.
  defp unit(field, type) do
    {_, mantissa_bits} = @formats[type]
    field - bias(type) - mantissa_bits
  end

  defp scale(integer, exponent) when exponent >= 0, do: (integer <<< exponent) * 1.0
  defp scale(integer, exponent), do: integer * 2.0 ** exponent

  @doc "A unit in the last place of a number in a float type."
  def ulp(number, type) do
    <<_::1, field::11, _::52>> = <<number * 1.0::float-64>>
    scale(1, unit(max(field - 1023 + bias(type), 1), type))
  end
end
