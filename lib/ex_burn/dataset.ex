defmodule ExBurn.Dataset do
  @moduledoc """
  The bundled digits, and what a data set goes through before training: split, normalise, one-hot,
  batch.

  The functions work on any `Nx` backend. Data is a tensor whose first axis counts the examples, or
  a tuple of such tensors, as `{images, labels}`; each function that takes data gives the same
  structure back.

      {images, labels} = ExBurn.Dataset.digits()
      images = ExBurn.Dataset.normalize(images, method: :scale, by: 16)
      labels = ExBurn.Dataset.one_hot(labels, 10)
      {train, test} = ExBurn.Dataset.split({images, labels}, 0.8)
      batches = ExBurn.Dataset.batches(train, batch_size: 64)

  Bad arguments raise `ExBurn.Error`.
  """

  alias ExBurn.Error

  @typedoc "A tensor, or a tuple of tensors with the same first axis."
  @type data :: Nx.Tensor.t() | tuple()

  @pixels 64

  @doc """
  The bundled handwritten digits, `{images, labels}`.

  The images are `u8` of shape `{1797, 64}`: 8×8 pixels, row by row, from 0 to 16. The labels are
  `u8` of shape `{1797}`, from 0 to 9. Both are on the default backend.

  They are the test set of UCI's *Optical Recognition of Handwritten Digits*, by E. Alpaydin and
  C. Kaynak, 1998, under CC BY 4.0.

      iex> {images, labels} = ExBurn.Dataset.digits()
      iex> {Nx.shape(images), Nx.shape(labels), Nx.type(images)}
      {{1797, 64}, {1797}, {:u, 8}}
  """
  @spec digits() :: {images :: Nx.Tensor.t(), labels :: Nx.Tensor.t()}
  def digits do
    {images, labels} =
      Application.app_dir(:ex_burn, "priv/data/digits.csv.gz")
      |> read!()
      |> :zlib.gunzip()
      |> String.split("\n", trim: true)
      |> Enum.map(&example/1)
      |> Enum.unzip()

    images =
      images |> IO.iodata_to_binary() |> Nx.from_binary(:u8) |> Nx.reshape({:auto, @pixels})

    {images, labels |> IO.iodata_to_binary() |> Nx.from_binary(:u8)}
  end

  defp read!(path) do
    case File.read(path) do
      {:ok, bytes} ->
        bytes

      {:error, posix} ->
        refuse!(:digits, "#{path}: #{:file.format_error(posix)}", "a readable file")
    end
  end

  defp example(line) do
    line |> String.split(",") |> Enum.map(&String.to_integer/1) |> Enum.split(@pixels)
  end

  @doc """
  Splits data in two, `{train, test}`.

  `train` gets `fraction` of the examples, rounded to the nearest whole number, and `test` gets the
  rest. Neither may be empty.

  ## Options

    * `:shuffle` - whether to shuffle before the split (default: `true`)
    * `:seed` - a non-negative integer; the same seed gives the same split (default: `0`)

  Raises `ExBurn.Error` for a fraction that isn't between 0 and 1 or that leaves one side empty,
  and for tensors that don't share their first axis.

      iex> {train, test} = ExBurn.Dataset.split(Nx.iota({10, 2}), 0.7)
      iex> {Nx.shape(train), Nx.shape(test)}
      {{7, 2}, {3, 2}}

      iex> {{x, y}, _test} = ExBurn.Dataset.split({Nx.iota({4, 2}), Nx.iota({4})}, 0.5, shuffle: false)
      iex> {Nx.to_list(x), Nx.to_list(y)}
      {[[0, 1], [2, 3]], [0, 1]}
  """
  @spec split(data, float(), keyword()) :: {train :: data, test :: data}
  def split(data, fraction, options \\ []) do
    options = options!(:split, options, shuffle: true, seed: 0)
    expect!(options[:seed], &non_negative?/1, :split, ":seed", "a non-negative integer")
    expect!(options[:shuffle], &is_boolean/1, :split, ":shuffle", "true or false")

    is_fraction = &(is_float(&1) and &1 > 0.0 and &1 < 1.0)
    expect!(fraction, is_fraction, :split, "fraction", "a float between 0 and 1, both excluded")

    count = count!(:split, data)
    train = round(count * fraction)

    if train in [0, count] do
      refuse!(:split, "#{count} examples and the fraction #{fraction}", "an example on each side")
    end

    if options[:shuffle] do
      {train, test} = count |> shuffled(options[:seed]) |> Enum.split(train)
      {take(data, train), take(data, test)}
    else
      {slice(data, 0, train), slice(data, train, count - train)}
    end
  end

  @doc """
  Brings a tensor to a common range, as floats: `f32` for integers, else the tensor's own type.

  ## Options

    * `:method` - how (default: `:min_max`):
        * `:min_max` - `(x - min) / (max - min)`, so from 0 to 1
        * `:standard` - `(x - mean) / standard deviation`, so mean 0 and variance 1
        * `:scale` - `x / by`
    * `:by` - the divisor of `:scale`, a number other than 0; required there
    * `:axes` - the axes that `:min_max` and `:standard` measure over, as `[0]` for each feature by
      itself (default: all)
    * `:from` - the tensor that `:min_max` and `:standard` measure, such as the training set when a
      test set is normalised (default: the tensor itself)

  What doesn't vary becomes 0 where it is measured.

  Raises `ExBurn.Error` for a method, divisor or option that isn't listed, and for a complex tensor.

      iex> ExBurn.Dataset.normalize(Nx.tensor([2, 4, 6])) |> Nx.to_list()
      [0.0, 0.5, 1.0]

      iex> ExBurn.Dataset.normalize(Nx.tensor([1.0, 3.0]), method: :standard) |> Nx.to_list()
      [-1.0, 1.0]

      iex> ExBurn.Dataset.normalize(Nx.tensor([0, 8, 16]), method: :scale, by: 16) |> Nx.to_list()
      [0.0, 0.5, 1.0]

      iex> train = Nx.tensor([[0, 5], [10, 5]])
      iex> ExBurn.Dataset.normalize(Nx.tensor([[5, 5]]), from: train, axes: [0]) |> Nx.to_list()
      [[0.5, 0.0]]
  """
  @spec normalize(Nx.Tensor.t(), keyword()) :: Nx.Tensor.t()
  def normalize(tensor, options \\ []) do
    options = options!(:normalize, options, method: :min_max, by: nil, axes: nil, from: tensor)
    tensor = floats!(tensor)

    case options[:method] do
      :min_max ->
        {from, measure} = measured(options)
        low = Nx.reduce_min(from, measure)
        rescale(tensor, low, from |> Nx.reduce_max(measure) |> Nx.subtract(low))

      :standard ->
        {from, measure} = measured(options)
        rescale(tensor, Nx.mean(from, measure), Nx.standard_deviation(from, measure))

      :scale ->
        is_divisor = &(is_number(&1) and &1 != 0)
        expect!(options[:by], is_divisor, :normalize, ":by", "a number other than 0")
        Nx.divide(tensor, options[:by])

      other ->
        refuse!(:normalize, ":method #{inspect(other)}", ":min_max, :standard or :scale")
    end
  end

  defp measured(options) do
    {floats!(options[:from]), [axes: options[:axes], keep_axes: options[:axes] != nil]}
  end

  defp floats!(tensor) do
    if match?({:c, _}, Nx.type(tensor)) do
      refuse!(:normalize, "a tensor of type #{type(tensor)}", "integers or floats")
    end

    Nx.as_type(tensor, Nx.Type.to_floating(Nx.type(tensor)))
  end

  defp rescale(tensor, centre, spread) do
    spread = Nx.select(Nx.equal(spread, 0), Nx.tensor(1, type: Nx.type(spread)), spread)
    tensor |> Nx.subtract(centre) |> Nx.divide(spread)
  end

  @doc """
  The one-hot rows of integer labels: `u8`, with a last axis of size `classes`.

  Raises `ExBurn.Error` for labels that aren't integers from 0 to `classes - 1`.

      iex> ExBurn.Dataset.one_hot(Nx.tensor([0, 2]), 3) |> Nx.to_list()
      [[1, 0, 0], [0, 0, 1]]
  """
  @spec one_hot(Nx.Tensor.t(), pos_integer()) :: Nx.Tensor.t()
  def one_hot(labels, classes) do
    expect!(classes, &positive?/1, :one_hot, "classes", "a positive integer")

    unless Nx.Type.integer?(Nx.type(labels)) do
      refuse!(:one_hot, "labels of type #{type(labels)}", "integers")
    end

    low = labels |> Nx.reduce_min() |> Nx.to_number()
    high = labels |> Nx.reduce_max() |> Nx.to_number()

    if low < 0 or high >= classes do
      refuse!(:one_hot, "labels from #{low} to #{high}", "labels from 0 to #{classes - 1}")
    end

    labels |> Nx.new_axis(-1) |> Nx.equal(Nx.iota({classes}))
  end

  @doc """
  A stream of the data in batches, which `Axon.Loop.run/4` and `Enum` take.

  Every pass over the stream gives each example once. The last batch is smaller where the batch
  size doesn't divide the number of examples.

  ## Options

    * `:batch_size` - examples in a batch (default: `32`)
    * `:shuffle` - whether each pass has an order of its own (default: `true`)
    * `:seed` - a non-negative integer that gives every pass the same order, or `nil` (default: `nil`)
    * `:drop_last` - whether a smaller last batch is left out (default: `false`)

  Raises `ExBurn.Error` for an option that isn't listed or has a wrong value, and for tensors that
  don't share their first axis.

      iex> data = {Nx.iota({5, 2}), Nx.iota({5})}
      iex> batches = ExBurn.Dataset.batches(data, batch_size: 2, shuffle: false)
      iex> for {x, y} <- batches, do: {Nx.shape(x), Nx.to_list(y)}
      [{{2, 2}, [0, 1]}, {{2, 2}, [2, 3]}, {{1, 2}, [4]}]
  """
  @spec batches(data, keyword()) :: Enumerable.t(data)
  def batches(data, options \\ []) do
    defaults = [batch_size: 32, shuffle: true, seed: nil, drop_last: false]
    options = options!(:batches, options, defaults)
    expect!(options[:batch_size], &positive?/1, :batches, ":batch_size", "a positive integer")
    expect!(options[:shuffle], &is_boolean/1, :batches, ":shuffle", "true or false")
    expect!(options[:drop_last], &is_boolean/1, :batches, ":drop_last", "true or false")

    is_seed = &(is_nil(&1) or non_negative?(&1))
    expect!(options[:seed], is_seed, :batches, ":seed", "a non-negative integer or nil")

    count = count!(:batches, data)
    size = options[:batch_size]
    last = if options[:drop_last], do: :discard, else: []

    if options[:shuffle] do
      # `flat_map` makes the order when a pass begins.
      Stream.flat_map([:pass], fn :pass ->
        count
        |> shuffled(options[:seed] || :rand.uniform(1_000_000_000))
        |> Stream.chunk_every(size, size, last)
        |> Stream.map(&take(data, &1))
      end)
    else
      starts = Range.new(0, count - 1, size)
      starts = if last == :discard, do: Enum.filter(starts, &(&1 + size <= count)), else: starts
      Stream.map(starts, &slice(data, &1, min(size, count - &1)))
    end
  end

  defp count!(op, data) do
    tensors = if is_tuple(data), do: Tuple.to_list(data), else: [data]

    case tensors |> Enum.map(&examples/1) |> Enum.uniq() do
      [count] when is_integer(count) ->
        count

      _ ->
        given = Enum.map_join(tensors, " and ", &describe/1)
        refuse!(op, given, "tensors that share their first axis")
    end
  end

  defp examples(%Nx.Tensor{shape: shape}) when shape != {}, do: elem(shape, 0)
  defp examples(_), do: nil

  defp describe(%Nx.Tensor{} = tensor), do: "#{type(tensor)} #{inspect(Nx.shape(tensor))}"
  defp describe(other), do: inspect(other)

  defp type(tensor), do: tensor |> Nx.type() |> Nx.Type.to_string()

  # Its own generator: the process's random numbers are the caller's.
  defp shuffled(count, seed) do
    state = :rand.seed_s(:exsss, seed)
    {keys, _state} = Enum.map_reduce(1..count, state, fn _, state -> :rand.uniform_s(state) end)
    keys |> Enum.zip(0..(count - 1)) |> Enum.sort() |> Enum.map(&elem(&1, 1))
  end

  defp take(data, indices) do
    indices = Nx.tensor(indices)
    each(data, &Nx.take(&1, indices))
  end

  defp slice(data, start, length), do: each(data, &Nx.slice_along_axis(&1, start, length))

  defp each(data, fun) when is_tuple(data) do
    data |> Tuple.to_list() |> Enum.map(fun) |> List.to_tuple()
  end

  defp each(tensor, fun), do: fun.(tensor)

  defp positive?(value), do: is_integer(value) and value > 0
  defp non_negative?(value), do: is_integer(value) and value >= 0

  defp options!(op, options, defaults) do
    case Keyword.validate(options, defaults) do
      {:ok, options} ->
        options

      {:error, unknown} ->
        known = Enum.map_join(defaults, ", ", fn {name, _} -> inspect(name) end)
        refuse!(op, "the options #{inspect(unknown)}", known)
    end
  end

  defp expect!(value, valid?, op, name, expected) do
    unless valid?.(value), do: refuse!(op, "#{name} #{inspect(value)}", expected)
  end

  @spec refuse!(atom(), String.t(), String.t()) :: no_return()
  defp refuse!(op, given, expected) do
    raise Error.from_tuple({:error, {op, given, expected}})
  end
end
