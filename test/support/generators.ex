defmodule ExBurn.Generators do
  @moduledoc "Generators of types, shapes and tensors, and what compares two backends on them."

  import ExUnit.Assertions
  import ExUnitProperties, only: [gen: 2]
  import StreamData

  alias Nx.Tensor, as: T

  @integers for kind <- [:s, :u], size <- [8, 16, 32, 64], do: {kind, size}
  @floats [{:f, 16}, {:bf, 16}, {:f, 32}, {:f, 64}]

  # From 1 to the next number of a type, and its smallest number of full precision.
  @precision %{
    {:f, 16} => {2.0 ** -10, 2.0 ** -14},
    {:bf, 16} => {2.0 ** -7, 2.0 ** -126},
    {:f, 32} => {2.0 ** -23, 2.0 ** -126},
    {:f, 64} => {2.0 ** -52, 2.0 ** -1022}
  }

  def integer_type, do: member_of(@integers)
  def float_type, do: member_of(@floats)
  def type, do: member_of(@integers ++ @floats)

  @doc "A type of as many bits."
  def type(bits), do: member_of(for {_, ^bits} = type <- @integers ++ @floats, do: type)

  @doc "A shape of one of the given ranks."
  def shape(ranks \\ 0..4) do
    gen all rank <- integer(ranks), sizes <- list_of(size(rank), length: rank) do
      List.to_tuple(sizes)
    end
  end

  defp size(rank), do: integer(1..if(rank < 4, do: 4, else: 3))

  @doc "A shape that broadcasts to the given one."
  def narrower(shape) do
    sizes = Tuple.to_list(shape)
    rank = length(sizes)

    gen all kept <- list_of(boolean(), length: rank), dropped <- integer(0..rank) do
      narrow = Enum.zip_with(sizes, kept, fn size, kept? -> if kept?, do: size, else: 1 end)
      narrow |> Enum.drop(dropped) |> List.to_tuple()
    end
  end

  @doc "Two shapes of which one broadcasts to the other."
  def shapes do
    gen all wide <- shape(),
            narrow <- narrower(wide),
            pair <- member_of([{wide, narrow}, {narrow, wide}]) do
      pair
    end
  end

  @doc "Some axes of a shape, in any order."
  def axes(shape) do
    gen all axes <- shuffle(Nx.axes(shape)), count <- integer(0..tuple_size(shape)) do
      Enum.take(axes, count)
    end
  end

  @doc "One axis of a shape that has one, counted from either end."
  def axis(shape), do: integer(-tuple_size(shape)..(tuple_size(shape) - 1))

  @doc "One value for each axis of a shape, made of its size."
  def each_axis(shape, fun), do: shape |> Tuple.to_list() |> Enum.map(fun) |> fixed_list()

  @doc "An element of a type, the ends of its range and what isn't finite included."
  def element({kind, size}) when kind in [:s, :u] do
    {low, high} = range(kind, size)
    frequency([{8, integer(max(low, -9)..9)}, {1, member_of([low, high, div(high, 3)])}])
  end

  def element(_float) do
    frequency([{8, finite()}, {1, member_of([:nan, :infinity, :neg_infinity, -0.0])}])
  end

  defp range(:s, size), do: {-(2 ** (size - 1)), 2 ** (size - 1) - 1}
  defp range(:u, size), do: {0, 2 ** size - 1}

  @doc "A number of few digits: exact in every float type, as are the products of two."
  def finite, do: map(integer(-32..32), &(&1 / 8))

  @doc "A number between two."
  def between(low, high), do: map(integer(0..1024), &(low + (high - low) * &1 / 1024))

  @doc "A finite element of a type."
  def small({:u, _}), do: integer(0..9)
  def small({:s, _}), do: integer(-9..9)
  def small(_float), do: finite()

  @doc "A tensor of `Nx.BinaryBackend`."
  def tensor(type, shape, element \\ nil) do
    map(list_of(element || element(type), length: Tuple.product(shape)), fn elements ->
      elements |> Nx.tensor(type: type, backend: Nx.BinaryBackend) |> Nx.reshape(shape)
    end)
  end

  @doc "A tensor whose axes may have names."
  def named(tensor) do
    gen all tensor <- tensor, named? <- boolean() do
      names = if named?, do: Enum.take([:a, :b, :c, :d], Nx.rank(tensor))
      Nx.rename(tensor, names || List.duplicate(nil, Nx.rank(tensor)))
    end
  end

  @doc """
  Asserts that `fun` of `tensors` is the same on `ExBurn.Backend` as on `Nx.BinaryBackend`.

  ## Options

    * `:ulps` - how many steps of the result's type, at the magnitude of the expected value,
      floats may be apart (default: `2`, of which one is `Nx.BinaryBackend`'s, which truncates
      bf16)
    * `:scale` - the least magnitude to take those steps at, for sums in which larger numbers
      cancel (default: `0`)
  """
  def compare(fun, tensors, options \\ []) do
    expected = Nx.with_default_backend(Nx.BinaryBackend, fn -> apply(fun, tensors) end)
    copies = Enum.map(tensors, &Nx.backend_copy(&1, ExBurn.Backend))
    given = Nx.with_default_backend(ExBurn.Backend, fn -> apply(fun, copies) end)
    assert_same(given, expected, options)
  end

  @doc "Asserts that a tensor of `ExBurn.Backend`, or several, is what is expected."
  def assert_same(given, expected, options \\ [])

  def assert_same(%T{} = given, %T{} = expected, options) do
    assert %ExBurn.Backend{} = given.data
    assert given.type == expected.type
    assert given.shape == expected.shape
    assert given.names == expected.names
    assert given.vectorized_axes == expected.vectorized_axes
    pairs = Enum.zip(flat(given), flat(expected))
    close? = close(expected.type, options)

    unless Enum.all?(pairs, close?) do
      {given_number, expected_number} = Enum.find(pairs, &(not close?.(&1)))

      flunk("""
      expected #{expected_number}, got #{given_number} in
      #{inspect(given)}
      where it should be
      #{inspect(expected)}
      """)
    end
  end

  def assert_same(given, expected, options) when is_tuple(expected) do
    assert_same(Tuple.to_list(given), Tuple.to_list(expected), options)
  end

  def assert_same(given, expected, options) do
    assert length(given) == length(expected)
    Enum.zip_with(given, expected, &assert_same(&1, &2, options))
  end

  # Nx reads a scalar by its binary, so this copies it once.
  defp flat(tensor), do: tensor |> Nx.backend_copy(Nx.BinaryBackend) |> Nx.to_flat_list()

  defp close(type, options) do
    case @precision do
      %{^type => {step, smallest}} ->
        ulps = options[:ulps] || 2
        scale = max(options[:scale] || 0, smallest)
        fn {given, expected} -> near?(given, expected, ulps * step, scale) end

      _integer ->
        fn {given, expected} -> given == expected end
    end
  end

  defp near?(given, expected, step, scale) when is_float(given) and is_float(expected) do
    abs(given - expected) <= step * max(abs(expected), scale)
  end

  defp near?(given, expected, _step, _scale), do: given == expected
end
