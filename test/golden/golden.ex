defmodule Golden do
  @moduledoc """
  Cases for the engine with the results that `Nx.BinaryBackend` gives.

  A case is an operation as `ExBurn.Backend` sends it, its operands and the function of Nx that it
  stands for. What the function returns is what the engine must return.
  """

  @integers [:s8, :s16, :s32, :s64, :u8, :u16, :u32, :u64]
  @floats [:f16, :bf16, :f32, :f64]
  @narrow_integers [:s2, :s4, :u2, :u4]
  @narrow_floats [:f8, :f8_e4m3fn]
  @complex [:c64, :c128]

  # How far a float may be from the expected one, relative to values above 1. `Nx.BinaryBackend`
  # truncates to bf16 where the engine rounds to the nearest.
  @tolerances %{
    {:f, 16} => 1.0e-3,
    {:bf, 16} => 8.0e-3,
    {:f, 32} => 1.0e-6,
    {:f, 64} => 1.0e-12,
    {:c, 64} => 1.0e-6,
    {:c, 128} => 1.0e-12
  }

  def types, do: @integers ++ @floats
  def integers, do: @integers
  def signed, do: Enum.take(@integers, 4)
  def floats, do: @floats
  def narrow_integers, do: @narrow_integers
  def narrow_floats, do: @narrow_floats
  def complex, do: @complex

  @doc """
  The case of `op`, whose result is `function` applied to the operands, or to nothing where it
  takes nothing.

  ## Options

    * `:tolerance` - how far floats may be off (default: by the type of the result)
  """
  def golden(op, operands, function, options \\ []) do
    arguments = if is_function(function, 0), do: [], else: operands
    expected = apply(function, arguments)
    tolerance = Map.get(@tolerances, expected.type, 0.0)

    [
      op: term(op),
      operands: operands,
      dtype: Nx.Type.to_string(expected.type),
      expected: expected,
      tolerance: Keyword.get(options, :tolerance, tolerance)
    ]
  end

  @doc "A tensor of the values given."
  def tensor(values, type), do: Nx.tensor(values, type: type, backend: Nx.BinaryBackend)

  @doc """
  A tensor of small values that every type holds exactly, so that sums and products are exact too:
  whole numbers for integers, quarters for floats, without a sign for unsigned types.
  """
  def sample(shape, type, seed \\ 0) do
    size = shape |> Tuple.to_list() |> Enum.product()
    values = for index <- 1..size, do: rem((index + seed) * 7, 13) - 6

    values =
      cond do
        type in @floats or type in @narrow_floats -> Enum.map(values, &(&1 / 4))
        type in @complex -> Enum.map(values, &Complex.new(&1 / 4, rem(&1 * 5, 7) / 2))
        type in signed() -> values
        type in [:s2, :s4] -> Enum.map(values, &rem(&1, 2))
        type == :u2 -> Enum.map(values, &rem(abs(&1), 4))
        true -> Enum.map(values, &abs/1)
      end

    values |> tensor(type) |> Nx.reshape(shape)
  end

  @doc "The sizes of the axes of a tensor."
  def dims(tensor), do: tensor |> Nx.shape() |> Tuple.to_list()

  @doc "Writes the cases to a file of JSON, one a line."
  def write!(cases, path) do
    lines = Enum.map_intersperse(cases, ",\n", &encode/1)
    File.write!(path, ["[\n", lines, "\n]\n"])
  end

  # An operation in the notation of serde: `{name, content}` is an object of one key.
  defp term({name, content}) when is_atom(name), do: %{name => term(content)}
  defp term(map) when is_map(map), do: Map.new(map, fn {key, value} -> {key, term(value)} end)
  defp term(list) when is_list(list), do: Enum.map(list, &term/1)
  defp term(tuple) when is_tuple(tuple), do: Tuple.to_list(tuple)
  defp term(value), do: value

  # The order of the keys is ours: that of a map is not the same in every run.
  defp encode(%Nx.Tensor{} = tensor) do
    encode(
      dtype: Nx.Type.to_string(tensor.type),
      shape: dims(tensor),
      data: data(tensor)
    )
  end

  defp encode(map) when is_map(map), do: map |> Enum.sort() |> object()
  defp encode([{key, _value} | _] = pairs) when is_atom(key), do: object(pairs)

  defp encode(list) when is_list(list) do
    ["[", Enum.map_intersperse(list, ",", &encode/1), "]"]
  end

  defp encode(value), do: JSON.encode!(value)

  # Complex numbers in parts, and the bytes of what has no number of Rust.
  defp data(%Nx.Tensor{type: {:c, size}} = tensor) do
    for number <- Nx.to_flat_list(tensor), part <- [number.re, number.im] do
      shortest(part, {:f, div(size, 2)})
    end
  end

  defp data(%Nx.Tensor{type: {kind, size}} = tensor)
       when size < 8 or (kind in [:f, :f8_e4m3fn] and size == 8) do
    bits = Nx.to_binary(tensor)
    missing = rem(8 - rem(bit_size(bits), 8), 8)
    :binary.bin_to_list(<<bits::bitstring, 0::size(missing)>>)
  end

  defp data(tensor) do
    for value <- Nx.to_flat_list(tensor), do: shortest(value, tensor.type)
  end

  # The fewest digits that give the value back when they are read into its type.
  defp shortest(value, {:f, size}) when is_float(value) and size < 64 do
    Enum.find_value(1..16, value, fn digits ->
      short = value |> :erlang.float_to_binary(scientific: digits) |> String.to_float()
      if <<short::float-size(size)>> == <<value::float-size(size)>>, do: short
    end)
  end

  defp shortest(value, _type), do: value

  defp object(pairs) do
    members = Enum.map(pairs, fn {key, value} -> [JSON.encode!(key), ":", encode(value)] end)
    ["{", Enum.intersperse(members, ","), "}"]
  end
end
