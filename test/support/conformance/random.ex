defmodule ExBurn.Conformance.Random do
  @moduledoc """
  The streams of `Nx.Random`: those of `Nx.BinaryBackend`, bit by bit in keys and integers.
  """

  use ExBurn.Conformance.Family

  @floats [{:f, 32}, {:f, 64}]
  @wholes for kind <- [:s, :u], size <- [8, 16, 32, 64], do: {kind, size}

  @impl true
  def operations do
    [
      operation(:random_split, [types: [{:u, 32}], refused: []], &split/1),
      operation(:random_fold_in, [types: [{:u, 32}], refused: []], &fold_in/1),
      operation(:random_randint, [types: @wholes, refused: []], &randint/1),
      operation(:random_uniform, [types: @floats, refused: []], &uniform/1),
      operation(:random_normal, distribution(), &normal/1),
      operation(:random_gumbel, distribution(), &gumbel/1),
      operation(:random_shuffle, [types: @wholes ++ @floats, refused: []], &shuffle_axis/1),
      operation(:random_choice, [types: @wholes ++ @floats, refused: []], &choice/1)
    ]
  end

  defp distribution do
    [types: @floats, refused: [], tolerance: "4 ulps, f64: the reference's 6 digits"]
  end

  defp split(_type) do
    gen all seed <- seed(), parts <- integer(1..5) do
      stream(:split, seed, [[parts: parts]])
    end
  end

  defp fold_in(_type) do
    gen all seed <- seed(), data <- integer(0..1000) do
      stream(:fold_in, seed, [data])
    end
  end

  defp randint(type) do
    gen all seed <- seed(),
            low <- integer(0..9),
            size <- integer(1..100),
            shape <- shape() do
      stream(:randint, seed, [low, low + size, [shape: shape, type: type]])
    end
  end

  defp uniform(type), do: drawn(:uniform, type, [])

  defp normal(type), do: drawn(:normal, type, ulps: ulps(type))

  defp ulps({:f, 32}), do: 4
  defp ulps({:f, 64}), do: 4.0e9

  # Near its zero, it is a difference.
  defp gumbel(type), do: drawn(:gumbel, type, ulps: 4, scale: 1.0)

  defp drawn(name, type, tolerance) do
    gen all seed <- seed(), shape <- shape() do
      stream(name, seed, [[shape: shape, type: type]], tolerance)
    end
  end

  defp shuffle_axis(type) do
    gen all seed <- seed(),
            shape <- shape(1..3),
            operand <- operand(type, shape, small(type)),
            axis <- member_of(Nx.axes(shape)) do
      stream(:shuffle, seed, [operand, [axis: axis]])
    end
  end

  defp choice(type) do
    gen all seed <- seed(),
            shape <- shape(1..3),
            operand <- operand(type, shape, small(type)),
            axis <- member_of(Nx.axes(shape)),
            samples <- integer(1..elem(shape, axis)),
            replace? <- boolean() do
      stream(:choice, seed, [operand, [samples: samples, replace: replace?, axis: axis]])
    end
  end

  defp seed, do: integer(0..4_294_967_295)

  defp stream(name, seed, arguments, options \\ []) do
    struct!(%Case{call: {__MODULE__, :draw, [name, seed, arguments]}}, options)
  end

  @doc "What a function of `Nx.Random` makes of a seed: its results."
  def draw(name, seed, arguments) do
    apply(Nx.Random, name, [Nx.Random.key(seed) | arguments])
  end
end
