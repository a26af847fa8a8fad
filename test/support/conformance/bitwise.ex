defmodule ExBurn.Conformance.Bitwise do
  @moduledoc "Operations on the bits of integers."

  use ExBurn.Conformance.Family

  import ExBurn.Conformance.Elementwise

  @impl true
  def operations do
    bits =
      for {name, function} <- [
            bitwise_and: &Bitwise.band/2,
            bitwise_or: &Bitwise.bor/2,
            bitwise_xor: &Bitwise.bxor/2
          ] do
        operation(
          name,
          [types: integers()],
          &cases(name, &1, function, fn type -> element(type) end)
        )
      end

    shifts =
      for {name, function} <- [left_shift: &Bitwise.bsl/2, right_shift: &Bitwise.bsr/2] do
        operation(
          name,
          [types: integers()],
          &cases(name, &1, function, fn type -> amount(type) end)
        )
      end

    bits ++ shifts
  end

  # Further than the width, too.
  defp amount({kind, _} = type) when kind in [:s, :u] do
    {_, most} = range(type)
    integer(0..min(most, 70))
  end

  defp amount(refused), do: element(refused)

  defp cases(name, type, function, right) do
    gen all operands <- pair(type, {&element/1, right}) do
      test(name, operands, type, function)
    end
  end
end
