defmodule ExBurn.Conformance.Scalar do
  @moduledoc "The exact functions of Nx on one element."

  import Kernel, except: [abs: 1, ceil: 1, floor: 1, round: 1]

  def abs({re, im}) when is_number(re) and is_number(im) do
    {re, im, power} = near_one({re, im})
    power * :math.sqrt(re * re + im * im)
  rescue
    # Elixir raises where IEEE 754 overflows.
    ArithmeticError -> :infinity
  end

  def abs({re, im}), do: if(Enum.any?([re, im], &infinite?/1), do: :infinity, else: :nan)
  def abs(:neg_infinity), do: :infinity
  def abs(other) when is_atom(other), do: other
  def abs(number), do: Kernel.abs(number)

  # A complex number divided by a power of two, which is exact, so that its squares are in range.
  defp near_one({re, im}) do
    largest = max(Kernel.abs(re), Kernel.abs(im))
    power = if largest == 0, do: 1.0, else: 2.0 ** Kernel.floor(:math.log2(largest))
    {re / power, im / power, power}
  end

  def negate({re, im}), do: {negate(re), negate(im)}
  def negate(:infinity), do: :neg_infinity
  def negate(:neg_infinity), do: :infinity
  def negate(:nan), do: :nan
  def negate(number), do: -number

  def sign({re, im}) when is_number(re) and is_number(im) and (re != 0 or im != 0) do
    {re, im, _power} = near_one({re, im})
    modulus = :math.sqrt(re * re + im * im)
    {re / modulus, im / modulus}
  end

  def sign({re, im}) when is_number(re) and is_number(im), do: {re, im}
  def sign(:nan), do: :nan
  def sign(:infinity), do: 1.0
  def sign(:neg_infinity), do: -1.0
  def sign(number) when number > 0, do: 1
  def sign(number) when number < 0, do: -1
  def sign(zero), do: zero

  def ceil(x), do: whole(x, &:math.ceil/1)
  def floor(x), do: whole(x, &:math.floor/1)
  def round(x), do: whole(x, &(Kernel.round(&1) * 1.0))

  defp whole(float, function) when is_float(float), do: function.(float)
  defp whole(other, _function), do: other

  def conjugate({re, im}), do: {re, negate(im)}
  def conjugate(real), do: {real, -0.0}

  def real({re, _}), do: re
  def real(real), do: real

  def imag({_, im}), do: im
  def imag(_real), do: 0.0

  def is_nan({re, im}), do: max(is_nan(re), is_nan(im))
  def is_nan(x), do: if(x == :nan, do: 1, else: 0)

  def is_infinity({re, im}), do: max(is_infinity(re), is_infinity(im))
  def is_infinity(x), do: if(infinite?(x), do: 1, else: 0)

  defp infinite?(x), do: x in [:infinity, :neg_infinity]

  def logical_not({re, im}), do: min(logical_not(re), logical_not(im))
  def logical_not(x), do: if(x == 0, do: 1, else: 0)

  def bitwise_not(x), do: -1 - x

  def population_count(x, size), do: Enum.sum(binary_digits(x, size))

  def count_leading_zeros(x, size),
    do: x |> binary_digits(size) |> Enum.find_index(&(&1 == 1)) || size

  defp binary_digits(x, size), do: for(<<(bit::1 <- <<x::size(size)>>)>>, do: bit)
end
