defmodule ExBurn.Backend do
  @moduledoc """
  The `Nx.Backend` that runs on Burn.

      Nx.default_backend(ExBurn.Backend)
      Nx.default_backend({ExBurn.Backend, device: :cuda})

  ## Options

    * `:device` - `:cpu`, `:cuda`, `:vulkan`, `:metal`, or `:gpu` for the most capable graphics
      processor (default: `ExBurn.Device.default/0`)

  Tensors of other backends are copied to the device of the operands they meet. Operands on two
  devices are refused: move one with `Nx.backend_transfer/2`.

  A printed tensor begins with its backend and device, unless
  `config :ex_burn, add_backend_on_inspect: false` is set.

  Every function here is a callback of `Nx.Backend`; call those of `Nx`.
  """

  @behaviour Nx.Backend

  alias ExBurn.{Device, Engine, Error, Type}
  alias Nx.Tensor, as: T

  @enforce_keys [:ref]
  defstruct [:ref]

  @type t :: %__MODULE__{ref: reference()}

  ## Creation

  @impl true
  def init(options) do
    options = Keyword.validate!(options, [:device])
    if options[:device], do: [device: Device.resolve(options[:device])], else: []
  end

  @impl true
  def constant(out, number, options) do
    create(out, {:constant, %{value: real(number), shape: dims(out)}}, options)
  end

  @impl true
  def iota(out, axis, options), do: create(out, {:iota, %{shape: dims(out), axis: axis}}, options)

  @impl true
  def eye(out, options), do: create(out, {:eye, %{shape: dims(out)}}, options)

  @impl true
  def from_binary(out, binary, options) do
    put(out, Engine.from_binary(binary, type(out), dims(out), device(options)))
  end

  ## Data

  @impl true
  def to_binary(tensor, limit), do: Engine.to_binary(ref(tensor), limit)

  @impl true
  def backend_deallocate(tensor), do: Engine.deallocate(ref(tensor))

  @impl true
  def backend_copy(tensor, __MODULE__, options) do
    put(tensor, Engine.to_device(ref(tensor), device(options)))
  end

  def backend_copy(tensor, backend, options) do
    backend.from_binary(tensor, Engine.to_binary(ref(tensor), nil), options)
  end

  @impl true
  def backend_transfer(tensor, backend, options) do
    if backend == __MODULE__ and Engine.device(ref(tensor)) == device(options) do
      tensor
    else
      copy = backend_copy(tensor, backend, options)
      backend_deallocate(tensor)
      copy
    end
  end

  @impl true
  def to_batched(out, tensor, options) do
    size = elem(tensor.shape, 0)
    batch = elem(out.shape, 0)
    leftover = rem(size, batch)
    full = for start <- 0..(size - batch)//batch, do: rows(out, tensor, start, batch)

    if leftover > 0 and options[:leftover] == :repeat do
      last = rows(out, tensor, size - leftover, leftover)
      first = rows(out, tensor, 0, batch - leftover)
      full ++ [concatenate(out, [last, first], 0)]
    else
      full
    end
  end

  defp rows(out, tensor, start, length) do
    [_ | inner] = dims(tensor)
    out = %{out | shape: List.to_tuple([length | inner])}
    zeros = Enum.map(inner, fn _ -> 0 end)
    slice(out, tensor, [start | zeros], [length | inner], [1 | Enum.map(inner, fn _ -> 1 end)])
  end

  @impl true
  def inspect(tensor, options) do
    import Inspect.Algebra

    # One element more than is shown tells that there are more.
    limit = if options.limit == :infinity, do: nil, else: options.limit + 1
    data = Nx.Backend.inspect(tensor, to_binary(tensor, limit), options)

    if Application.get_env(:ex_burn, :add_backend_on_inspect, true) do
      concat(["ExBurn.Backend<#{Engine.device(ref(tensor))}>", line(), data])
    else
      data
    end
  end

  @impl true
  def from_pointer(_pointer, _type, _shape, _backend_options, _options) do
    refuse(:from_pointer, "the engine owns the memory of its tensors")
  end

  @impl true
  def to_pointer(_tensor, _options) do
    refuse(:to_pointer, "the engine owns the memory of its tensors")
  end

  ## Element by element

  unary =
    Enum.map(Nx.Shared.unary_math_funs(), &elem(&1, 0)) ++
      [:abs, :negate, :sign, :ceil, :floor, :round] ++
      [:bitwise_not, :count_leading_zeros, :population_count, :is_nan, :is_infinity]

  for op <- unary do
    @impl true
    def unquote(op)(out, tensor), do: eval(out, {:unary, unquote(op)}, [tensor])
  end

  binary =
    [:add, :subtract, :multiply, :pow, :remainder, :divide, :atan2, :min, :max, :quotient] ++
      [:bitwise_and, :bitwise_or, :bitwise_xor, :left_shift, :right_shift] ++
      [:equal, :not_equal, :greater, :less, :greater_equal, :less_equal] ++
      [:logical_and, :logical_or, :logical_xor]

  for op <- binary do
    @impl true
    def unquote(op)(out, left, right), do: eval(out, {:binary, unquote(op)}, [left, right])
  end

  @impl true
  def select(out, test, yes, no), do: eval(out, {:choose, :select}, [test, yes, no])

  @impl true
  def clip(out, tensor, low, high), do: eval(out, {:choose, :clip}, [tensor, low, high])

  @impl true
  def as_type(out, tensor), do: eval(out, {:convert, :as_type}, [tensor])

  @impl true
  def bitcast(out, tensor), do: eval(out, {:convert, :bitcast}, [tensor])

  # Of a real number, these are itself and nothing.

  @impl true
  def conjugate(out, tensor), do: as_type(out, tensor)

  @impl true
  def real(out, tensor), do: as_type(out, tensor)

  @impl true
  def imag(out, tensor), do: constant(out, 0, device: Engine.device(ref(tensor)))

  ## Shape

  @impl true
  def reshape(out, tensor), do: eval(out, {:reshape, %{shape: dims(out)}}, [tensor])

  @impl true
  def squeeze(out, tensor, _axes), do: reshape(out, tensor)

  @impl true
  def broadcast(out, tensor, shape, axes) do
    eval(out, {:broadcast, %{shape: Tuple.to_list(shape), axes: axes}}, [tensor])
  end

  @impl true
  def transpose(out, tensor, axes), do: eval(out, {:transpose, %{axes: axes}}, [tensor])

  @impl true
  def reverse(out, tensor, axes), do: eval(out, {:reverse, %{axes: axes}}, [tensor])

  @impl true
  def pad(out, tensor, value, padding),
    do: eval(out, {:pad, %{padding: padding}}, [tensor, value])

  @impl true
  def concatenate(out, tensors, axis), do: eval(out, {:concatenate, %{axis: axis}}, tensors)

  @impl true
  def stack(out, tensors, axis), do: eval(out, {:stack, %{axis: axis}}, tensors)

  ## Indexing

  @impl true
  def slice(out, tensor, starts, lengths, strides) do
    if Enum.all?(starts, &is_integer/1) do
      starts = clamp(starts, dims(tensor), lengths)
      eval(out, {:slice, %{starts: starts, lengths: lengths, strides: strides}}, [tensor])
    else
      op = {:dynamic_slice, %{lengths: lengths, strides: strides}}
      eval(out, op, [tensor | Enum.map(starts, &Nx.to_tensor/1)])
    end
  end

  @impl true
  def put_slice(out, tensor, starts, slice) do
    if Enum.all?(starts, &is_integer/1) do
      starts = clamp(starts, dims(tensor), dims(slice))
      eval(out, {:put_slice, %{starts: starts}}, [tensor, slice])
    else
      eval(out, {:dynamic_put_slice, %{}}, [tensor, slice | Enum.map(starts, &Nx.to_tensor/1)])
    end
  end

  # A slice past the end begins earlier.
  defp clamp(starts, sizes, lengths) do
    Enum.zip_with([starts, sizes, lengths], fn [start, size, length] ->
      start |> max(0) |> min(size - length)
    end)
  end

  @impl true
  def gather(out, tensor, indices, options) do
    eval(out, {:gather, %{axes: options[:axes]}}, [tensor, indices])
  end

  @impl true
  def indexed_add(out, tensor, indices, updates, options) do
    eval(out, {:indexed, %{kind: :add, axes: options[:axes]}}, [tensor, indices, updates])
  end

  @impl true
  def indexed_put(out, tensor, indices, updates, options) do
    eval(out, {:indexed, %{kind: :put, axes: options[:axes]}}, [tensor, indices, updates])
  end

  ## Reductions

  for op <- [:sum, :product, :reduce_max, :reduce_min, :all, :any] do
    @impl true
    def unquote(op)(out, tensor, options) do
      axes = options[:axes] || Nx.axes(tensor)
      keep_axes = options[:keep_axes] || false
      eval(out, {:reduce, %{kind: unquote(op), axes: axes, keep_axes: keep_axes}}, [tensor])
    end
  end

  for op <- [:argmax, :argmin] do
    @impl true
    def unquote(op)(out, tensor, options) do
      attributes = %{
        kind: unquote(op),
        axis: options[:axis],
        keep_axis: options[:keep_axis] || false,
        tie_break: options[:tie_break] || :low
      }

      eval(out, {:arg_reduce, attributes}, [tensor])
    end
  end

  for op <- [:sort, :argsort] do
    @impl true
    def unquote(op)(out, tensor, options) do
      attributes = %{axis: options[:axis], descending: options[:direction] == :desc}
      eval(out, {unquote(op), attributes}, [tensor])
    end
  end

  for kind <- [:sum, :product, :max, :min] do
    @impl true
    def unquote(:"window_#{kind}")(out, tensor, shape, options) do
      attributes = %{
        kind: unquote(kind),
        dimensions: Tuple.to_list(shape),
        strides: options[:strides],
        padding: options[:padding],
        dilations: options[:window_dilations]
      }

      eval(out, {:window, attributes}, [tensor])
    end
  end

  for kind <- [:max, :min] do
    @impl true
    def unquote(:"window_scatter_#{kind}")(out, tensor, source, initial, shape, options) do
      attributes = %{
        kind: unquote(kind),
        dimensions: Tuple.to_list(shape),
        strides: options[:strides],
        padding: options[:padding]
      }

      eval(out, {:window_scatter, attributes}, [tensor, source, initial])
    end
  end

  ## Products

  @impl true
  def dot(out, left, contract_left, batch_left, right, contract_right, batch_right) do
    attributes = %{
      contract_left: contract_left,
      batch_left: batch_left,
      contract_right: contract_right,
      batch_right: batch_right
    }

    eval(out, {:dot, attributes}, [left, right])
  end

  @impl true
  def conv(out, tensor, kernel, options) do
    attributes = %{
      strides: options[:strides],
      padding: options[:padding],
      input_dilation: options[:input_dilation],
      kernel_dilation: options[:kernel_dilation],
      feature_groups: options[:feature_group_size],
      batch_groups: options[:batch_group_size],
      input_permutation: options[:input_permutation],
      kernel_permutation: options[:kernel_permutation],
      output_permutation: options[:output_permutation]
    }

    eval(out, {:conv, attributes}, [tensor, kernel])
  end

  ## Blocks: what Nx would compose of other operations and the engine does at once

  @impl true
  def block(%Nx.Block.Take{axis: axis}, out, [tensor, indices], _fun) do
    eval(out, {:take, %{axis: axis}}, [tensor, indices])
  end

  def block(%Nx.Block.TakeAlongAxis{axis: axis}, out, [tensor, indices], _fun) do
    eval(out, {:take_along_axis, %{axis: axis}}, [tensor, indices])
  end

  for {block, kind} <- [
        {Nx.Block.CumulativeSum, :sum},
        {Nx.Block.CumulativeProduct, :product},
        {Nx.Block.CumulativeMax, :max},
        {Nx.Block.CumulativeMin, :min}
      ] do
    def block(%unquote(block){axis: axis, reverse: reverse}, out, [tensor], _fun) do
      eval(out, {:cumulative, %{kind: unquote(kind), axis: axis, reverse: reverse}}, [tensor])
    end
  end

  def block(block, _out, args, fun), do: apply(fun, [block | args])

  ## Not there yet

  @impl true
  def reduce(_out, _tensor, _acc, _options, _fun), do: refuse(:reduce, "not supported yet")

  @impl true
  def window_reduce(_out, _tensor, _acc, _shape, _options, _fun) do
    refuse(:window_reduce, "not supported yet")
  end

  @impl true
  def triangular_solve(_out, _a, _b, _options), do: refuse(:triangular_solve, "not supported yet")

  @impl true
  def fft(_out, _tensor, _options), do: refuse(:fft, "not supported yet")

  @impl true
  def ifft(_out, _tensor, _options), do: refuse(:ifft, "not supported yet")

  ## Helpers

  defp eval(out, op, tensors) do
    device = device_of(tensors)
    refs = for tensor <- tensors, do: ref(tensor, device)
    put(out, Engine.eval(op, refs, type(out), device))
  end

  defp create(out, op, options), do: put(out, Engine.eval(op, [], type(out), device(options)))

  defp put(out, ref), do: %{out | data: %__MODULE__{ref: ref}}

  # Only tensors of other backends need to know where the others are.
  defp device_of(tensors) do
    if Enum.all?(tensors, &match?(%T{data: %__MODULE__{}}, &1)) do
      :cpu
    else
      Enum.find_value(tensors, &own_device/1) || Device.default()
    end
  end

  defp own_device(%T{data: %__MODULE__{ref: ref}}), do: Engine.device(ref)
  defp own_device(_other), do: nil

  defp ref(tensor, device \\ :cpu)
  defp ref(%T{data: %__MODULE__{ref: ref}}, _device), do: ref

  defp ref(tensor, device) do
    Engine.from_binary(Nx.to_binary(tensor), type(tensor), dims(tensor), device)
  end

  defp device(options), do: options[:device] || Device.default()
  defp dims(%T{shape: shape}), do: Tuple.to_list(shape)
  defp type(%T{type: type}), do: Type.to_engine(type)

  defp real(%Complex{} = number), do: refuse(:constant, "given #{number}, expected a real number")
  defp real(number), do: number

  defp refuse(op, reason), do: raise(Error, op: op, reason: reason)
end
