defmodule ExBurn.Conformance.Generate do
  @moduledoc "Generators of types, elements and operands."

  import Bitwise
  import ExUnitProperties, only: [gen: 2]
  import StreamData

  alias ExBurn.Conformance.{Number, Operand}

  @signed for size <- [2, 4, 8, 16, 32, 64], do: {:s, size}
  @unsigned for size <- [2, 4, 8, 16, 32, 64], do: {:u, size}
  @floats [{:f, 8}, {:f8_e4m3fn, 8}, {:bf, 16}, {:f, 16}, {:f, 32}, {:f, 64}]
  @complex [{:c, 64}, {:c, 128}]

  def integers, do: @signed ++ @unsigned
  def floats, do: @floats
  def reals, do: integers() ++ @floats
  def complex, do: @complex
  def types, do: reals() ++ @complex

  @doc "The type of indices."
  def index_type, do: member_of(for {_, size} = type <- integers(), size >= 8, do: type)

  @doc """
  A type to join a type's elements with: mostly itself; otherwise one with which the reference's wider
  types meet in the same.
  """
  def joined_type(type) do
    others =
      for other <- types(),
          merged = Nx.Type.merge(type, other),
          Operand.wide(merged) == Nx.Type.merge(Operand.wide(type), Operand.wide(other)),
          do: other

    frequency([{3, constant(type)}, {1, member_of(others)}])
  end

  ## Elements

  @doc "An element of a type: of few digits, of any bits, or at the ends of its range."
  def element({:c, _} = type) do
    part = Number.part(type)
    {element(part), element(part)}
  end

  def element({kind, size} = type) when kind in [:s, :u] do
    {low, high} = range(type)
    pattern = map(integer(0..((1 <<< size) - 1)), &Number.round_to(&1, type))
    frequency([{6, small(type)}, {3, pattern}, {1, member_of([low, high])}])
  end

  def element(type) do
    special = [:nan, :infinity, :neg_infinity, -0.0]
    ends = [Number.float(1, type) | Number.round_to(special, type)]
    frequency([{6, small(type)}, {3, any_bits(type)}, {1, member_of(ends)}])
  end

  defp any_bits({_, size} = type) do
    0..((1 <<< size) - 1)
    |> integer()
    |> map(&Number.float(&1, type))
    |> filter(&is_number/1)
  end

  def range({:s, size}), do: {-(1 <<< (size - 1)), (1 <<< (size - 1)) - 1}
  def range({:u, size}), do: {0, (1 <<< size) - 1}

  @doc "A finite element of few digits: exact in most types, as are sums and products of a few."
  def small({:c, _} = type) do
    part = Number.part(type)
    {small(part), small(part)}
  end

  def small({kind, _} = type) when kind in [:s, :u] do
    {low, high} = range(type)
    integer(max(low, -9)..min(high, 9))
  end

  def small(type), do: map(integer(-32..32), &Number.round_to(&1 / 8, type))

  @doc "An element to sum: integers wrap, and the sums of a few of the others are exact."
  def summand({kind, _} = type) when kind in [:s, :u], do: element(type)
  def summand(type), do: small(type)

  @doc "As `small/1`, but not zero."
  def nonzero({:c, _} = type), do: filter(small(type), &(&1 != {0.0, 0.0}))
  def nonzero(type), do: filter(small(type), &(&1 != 0))

  @doc "A whole number that every type has: 0, 1 or, with a sign, -1."
  def unit({kind, _}) when kind == :u, do: integer(0..1)
  def unit({kind, _}) when kind == :s, do: integer(-1..1)
  def unit({:c, _}), do: {unit({:f, 32}), unit({:f, 32})}
  def unit(_float), do: map(integer(-1..1), &(&1 * 1.0))

  @doc "A small element that is exact in every type that has negative numbers; a complex one is real."
  def exact({:c, _}), do: {exact({:f, 32}), constant(0.0)}

  def exact({kind, _} = type) when kind in [:s, :u] do
    {low, high} = range(type)
    integer(max(low, -2)..min(high, 3))
  end

  def exact(_float), do: map(integer(-4..6), &(&1 / 2))

  @doc "As `exact/1`, but positive, and so in every type."
  def exact_positive({:c, _}), do: {exact_positive({:f, 32}), constant(0.0)}

  def exact_positive({kind, _} = type) when kind in [:s, :u] do
    {_, high} = range(type)
    integer(1..min(high, 3))
  end

  def exact_positive(_float), do: map(integer(1..6), &(&1 / 2))

  @doc "An element between two numbers; of a complex type, both parts."
  def between({:c, _} = type, low, high) do
    part = Number.part(type)
    {between(part, low, high), between(part, low, high)}
  end

  def between({kind, _} = type, low, high) when kind in [:s, :u] do
    {least, most} = range(type)
    integer(max(ceil(low), least)..min(floor(high), most)//1)
  end

  def between(type, low, high) do
    map(integer(0..1024), &Number.round_to(low + (high - low) * &1 / 1024, type))
  end

  ## Shapes

  @doc "A shape of few elements, or now and then of more than a vector register or two holds."
  def shape(ranks \\ 0..3)

  def shape(0..0//1), do: constant({})

  def shape(first..last//1) do
    large =
      gen all rank <- integer(max(first, 1)..max(last, 1)), size <- integer(17..70) do
        List.to_tuple(List.duplicate(1, rank - 1) ++ [size])
      end

    small =
      gen all rank <- integer(first..last), sizes <- list_of(integer(1..4), length: rank) do
        List.to_tuple(sizes)
      end

    frequency([{12, small}, {1, if(last == 0, do: small, else: large)}])
  end

  @doc "A shape of few elements."
  def small_shape(ranks, sizes \\ 1..4) do
    gen all rank <- integer(ranks), sizes <- list_of(integer(sizes), length: rank) do
      List.to_tuple(sizes)
    end
  end

  ## Operands

  @doc "An operand of a type and shape, with given elements, in any layout."
  def operand(type, shape, element \\ nil) do
    gen all elements <- list_of(element || element(type), length: Tuple.product(shape)),
            layout <- member_of(Operand.layouts()) do
      %Operand{type: type, shape: shape, elements: elements, layout: layout}
    end
  end

  @doc "As `operand/3`, with names of its axes or without."
  def named(operand) do
    gen all operand <- operand, named? <- boolean() do
      names = Enum.take([:a, :b, :c, :d, :e], tuple_size(operand.shape))
      if named?, do: %{operand | names: names}, else: operand
    end
  end

  @doc "As `operand`, now and then with one more axis in front, which is vectorised."
  def vectorized(operand) do
    bare =
      gen all operand <- operand, size <- integer(1..3) do
        copies = List.duplicate(operand.elements, size)
        # Each of the copies begins elsewhere, so that none can be taken for another.
        elements = copies |> Enum.with_index() |> Enum.flat_map(&rotate/1)
        %{operand | elements: elements, vectorized: size}
      end

    frequency([{4, operand}, {1, bare}])
  end

  defp rotate({elements, by}) do
    {last, first} = Enum.split(elements, rem(by, length(elements)))
    first ++ last
  end

  ## Indices

  @doc "An operand of indices below a size."
  def indices(shape, size) do
    gen all type <- index_type(), operand <- operand(type, shape, integer(0..(size - 1))) do
      operand
    end
  end
end
