defmodule ExBurn.Conformance.Conversion do
  @moduledoc "The elements as another type, by value or by bits."

  use ExBurn.Conformance.Family

  @impl true
  def operations do
    [
      operation(:as_type, &as_type/1),
      operation(:bitcast, [types: reals()], &bitcast/1)
    ]
  end

  defp as_type(type) do
    gen all to <- member_of(types()),
            shape <- shape(),
            element = one_of([element(type), between_neighbours(type, to)]),
            operand <- named(operand(type, shape, element)) do
      converted(:as_type, operand, to, Enum.map(operand.elements, &convert(&1, to)))
    end
  end

  # Half-way between two numbers of the other type, or so little off that a type between the two
  # would lose it.
  defp between_neighbours(type, {to_kind, _} = to) when to_kind in [:f, :bf, :f8_e4m3fn] do
    gen all number <- filter(element(to), &is_number/1),
            toward <- member_of([-1, 1]),
            off <- member_of([-1, 0, 1]) do
      near(type, number + toward * Number.ulp(number, to) / 2, off)
    end
  end

  defp between_neighbours(type, _to), do: element(type)

  defp near({kind, _} = type, half, off) when kind in [:s, :u] do
    {low, high} = range(type)
    (trunc(half) + off) |> max(low) |> min(high)
  end

  defp near({:c, _} = type, half, off), do: {near(Number.part(type), half, off), 0.0}

  # Where the type has the half.
  defp near(type, half, off) do
    case Number.round_to(half, type) do
      number when is_number(number) ->
        Number.round_to(number + off * Number.ulp(number, type), type)

      infinity ->
        infinity
    end
  end

  # To integers, floats are truncated and saturate; integers wrap.
  defp convert({re, _im}, {kind, _} = to) when kind != :c, do: convert(re, to)
  defp convert(:nan, {kind, _}) when kind in [:s, :u], do: 0

  defp convert(float, {kind, _} = to) when kind in [:s, :u] and not is_integer(float) do
    {low, high} = range(to)

    case float do
      :infinity -> high
      :neg_infinity -> low
      number -> number |> trunc() |> max(low) |> min(high)
    end
  end

  defp convert(element, to), do: Number.round_to(element, to)

  defp bitcast({_, size} = type) do
    gen all to <- same_width(size),
            shape <- shape(),
            operand <- named(operand(type, shape)) do
      elements = operand.elements |> Number.encode(type) |> Number.decode(to)
      converted(:bitcast, operand, to, elements)
    end
  end

  # Nx refuses it of complex numbers, to whatever.
  defp same_width(size) do
    case for {_, ^size} = type <- reals(), do: type do
      [] -> constant({:f, 64})
      types -> member_of(types)
    end
  end

  defp converted(name, operand, to, elements) do
    %Case{
      call: {Nx, name, [operand, to]},
      expected: fn -> Operand.reference(%{operand | type: to, elements: elements}) end
    }
  end
end
