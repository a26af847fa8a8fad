defmodule ExBurn.Conformance.Scalar do
  @moduledoc "The exact functions of Nx on one element."

  import Kernel, except: [abs: 1, ceil: 1, floor: 1, max: 2, min: 2, round: 1]

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
    largest = Kernel.max(Kernel.abs(re), Kernel.abs(im))
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
  def round(x), do: whole(x, &signed(Kernel.round(&1) * 1.0, &1))

  # A zero that integers have lost the sign of.
  defp signed(zero, float) when zero == 0, do: float * 0.0
  defp signed(number, _float), do: number

  defp whole(float, function) when is_float(float), do: function.(float)
  defp whole(other, _function), do: other

  def conjugate({re, im}), do: {re, negate(im)}
  def conjugate(real), do: {real, -0.0}

  def real({re, _}), do: re
  def real(real), do: real

  def imag({_, im}), do: im
  def imag(_real), do: 0.0

  def is_nan({re, im}), do: Kernel.max(is_nan(re), is_nan(im))
  def is_nan(x), do: if(x == :nan, do: 1, else: 0)

  def is_infinity({re, im}), do: Kernel.max(is_infinity(re), is_infinity(im))
  def is_infinity(x), do: if(infinite?(x), do: 1, else: 0)

  defp infinite?(x), do: x in [:infinity, :neg_infinity]

  def logical_not({re, im}), do: Kernel.min(logical_not(re), logical_not(im))
  def logical_not(x), do: if(x == 0, do: 1, else: 0)

  def bitwise_not(x), do: -1 - x

  def population_count(x, size), do: Enum.sum(binary_digits(x, size))

  def count_leading_zeros(x, size),
    do: x |> binary_digits(size) |> Enum.find_index(&(&1 == 1)) || size

  defp binary_digits(x, size), do: for(<<(bit::1 <- <<x::size(size)>>)>>, do: bit)

  ## Arithmetic

  def add({a, b}, {c, d}), do: {add(a, c), add(b, d)}
  def add({_, _} = z, x), do: add(z, {x, 0.0})
  def add(x, {_, _} = z), do: add({x, 0.0}, z)
  def add(:nan, _), do: :nan
  def add(_, :nan), do: :nan
  def add(x, y) when is_atom(x) and is_atom(y), do: if(x == y, do: x, else: :nan)
  def add(x, _) when is_atom(x), do: x
  def add(_, y) when is_atom(y), do: y
  def add(x, y), do: or_infinity(fn -> x + y end, x < 0)

  def subtract(x, y), do: add(x, negate(y))

  def multiply({a, b}, {c, d}), do: {a * c - b * d, a * d + b * c}
  def multiply({_, _} = z, x), do: multiply(z, {x, 0.0})
  def multiply(x, {_, _} = z), do: multiply({x, 0.0}, z)
  def multiply(:nan, _), do: :nan
  def multiply(_, :nan), do: :nan

  def multiply(x, y) when is_atom(x) or is_atom(y) do
    if x == 0 or y == 0, do: :nan, else: infinity(negative?(x) != negative?(y))
  end

  def multiply(x, y), do: or_infinity(fn -> x * y end, negative?(x) != negative?(y))

  def divide({a, b}, {c, d}) do
    {re, im} = multiply({a, b}, {c, -d})
    square = c * c + d * d
    {re / square, im / square}
  end

  def divide({_, _} = z, x), do: divide(z, {x, 0.0})
  def divide(x, {_, _} = z), do: divide({x, 0.0}, z)
  def divide(:nan, _), do: :nan
  def divide(_, :nan), do: :nan
  def divide(x, y) when is_atom(x) and is_atom(y), do: :nan
  def divide(x, y) when is_atom(x), do: infinity(negative?(x) != negative?(y))
  def divide(x, y) when is_atom(y), do: if(negative?(x) != negative?(y), do: -0.0, else: 0.0)
  def divide(x, y) when x == 0 and y == 0, do: :nan
  def divide(x, y) when y == 0, do: infinity(negative?(x) != negative?(y))
  def divide(x, y), do: or_infinity(fn -> x / y end, negative?(x) != negative?(y))

  def remainder(x, y) when is_integer(x) and is_integer(y), do: rem(x, y)
  def remainder(:nan, _), do: :nan
  def remainder(_, :nan), do: :nan
  def remainder(x, _) when is_atom(x), do: :nan
  def remainder(_, y) when y == 0, do: :nan
  def remainder(x, y) when is_atom(y), do: x
  def remainder(x, y), do: :math.fmod(x, y)

  def quotient(x, y), do: div(x, y)

  def max(:nan, _), do: :nan
  def max(_, :nan), do: :nan
  # 0.0 is above -0.0, as IEEE 754 has it.
  def max(x, y) when x == 0 and y == 0, do: if(negative_zero?(x), do: y, else: x)
  def max(x, y), do: if(less(x, y) == 1, do: y, else: x)

  def min(:nan, _), do: :nan
  def min(_, :nan), do: :nan
  def min(x, y) when x == 0 and y == 0, do: if(negative_zero?(x), do: x, else: y)
  def min(x, y), do: if(less(x, y) == 1, do: x, else: y)

  defp negative_zero?(x), do: x === -0.0

  # Elixir raises where IEEE 754 overflows.
  defp or_infinity(function, negative?) do
    function.()
  rescue
    ArithmeticError -> infinity(negative?)
  end

  defp infinity(negative?), do: if(negative?, do: :neg_infinity, else: :infinity)

  defp negative?(:infinity), do: false
  defp negative?(:neg_infinity), do: true
  defp negative?(x) when is_integer(x), do: x < 0

  defp negative?(x) do
    <<sign::1, _::63>> = <<x::float>>
    sign == 1
  end

  ## Comparison and logic

  def equal({a, b}, {c, d}), do: logical_and(equal(a, c), equal(b, d))
  def equal({_, _} = z, x), do: equal(z, {x, 0.0})
  def equal(x, {_, _} = z), do: equal({x, 0.0}, z)
  def equal(:nan, _), do: 0
  def equal(x, y), do: truth(x == y)

  def not_equal(x, y), do: 1 - equal(x, y)

  def less(:nan, _), do: 0
  def less(_, :nan), do: 0
  def less(x, y), do: truth(place(x) < place(y))

  # Infinities are not numbers of Elixir.
  defp place(:neg_infinity), do: {-1, 0}
  defp place(:infinity), do: {1, 0}
  defp place(number), do: {0, number}

  def greater(x, y), do: less(y, x)
  def less_equal(x, y), do: Kernel.max(less(x, y), equal(x, y))
  def greater_equal(x, y), do: less_equal(y, x)

  def logical_and(x, y), do: truth(true?(x) and true?(y))
  def logical_or(x, y), do: truth(true?(x) or true?(y))
  def logical_xor(x, y), do: truth(true?(x) != true?(y))

  defp true?(x), do: logical_not(x) == 0
  defp truth(boolean), do: if(boolean, do: 1, else: 0)
end
