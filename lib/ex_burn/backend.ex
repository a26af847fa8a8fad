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

  alias ExBurn.Backend.Check
  alias ExBurn.{Device, Engine, Error, Operation, Type}
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
  def constant(out, number, options), do: create(:constant, out, [number], options)

  @impl true
  def iota(out, axis, options), do: create(:iota, out, [axis], options)

  @impl true
  def eye(out, options), do: create(:eye, out, [], options)

  defp create(name, out, args, options) do
    {op, []} = operation(name, out, args)
    put(out, Engine.eval(op, [], type(out), device(options)))
  end

  @impl true
  def from_binary(out, binary, options) do
    put(out, Engine.from_binary(whole_bytes(binary), type(out), dims(out), device(options)))
  end

  # Elements of less than a byte may end in the middle of one.
  defp whole_bytes(binary) when is_binary(binary), do: binary

  defp whole_bytes(bits) do
    missing = 8 - rem(bit_size(bits), 8)
    <<bits::bitstring, 0::size(missing)>>
  end

  ## Data

  @impl true
  def to_binary(%T{type: {_, bits}} = tensor, limit) do
    binary = Engine.to_binary(ref(tensor), limit)
    if bits < 8, do: unpadded(binary, tensor, limit), else: binary
  end

  defp unpadded(binary, %T{type: {_, bits}} = tensor, limit) do
    size = tensor |> Nx.devectorize() |> Nx.size()
    used = bits * min(limit || size, size)
    <<elements::bitstring-size(used), _padding::bitstring>> = binary
    elements
  end

  @impl true
  def backend_deallocate(tensor), do: Engine.deallocate(ref(tensor))

  @impl true
  def backend_copy(tensor, __MODULE__, options) do
    put(tensor, Engine.to_device(ref(tensor), device(options)))
  end

  def backend_copy(tensor, backend, options) do
    backend.from_binary(tensor, to_binary(tensor, nil), options)
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
    repeated = if options[:leftover] == :repeat, do: leftover, else: 0

    # A stream, so that no more of them exist than are used.
    Stream.map(0..(size - leftover + repeated - 1)//batch, fn
      start when start + batch <= size ->
        rows(out, tensor, start, batch)

      start ->
        first = rows(out, tensor, 0, batch - leftover)
        concatenate(out, [rows(out, tensor, start, leftover), first], 0)
    end)
  end

  defp rows(out, tensor, start, length) do
    [_ | inner] = dims(tensor)
    out = %{out | shape: List.to_tuple([length | inner])}
    starts = [start | Enum.map(inner, fn _ -> 0 end)]
    slice(out, tensor, starts, [length | inner], Enum.map([length | inner], fn _ -> 1 end))
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

  @doc false
  # The engine's reference of a tensor, copied to `device` where another backend has it.
  def reference(tensor, device), do: ref(tensor, device)

  ## Operations

  # A block is what Nx would compose of other operations; the engine does some of them at once.
  @impl true
  def block(block, out, args, fun) do
    case Operation.new(block, out, args) do
      {op, operands} ->
        Check.values!(block, args)
        eval(out, op, operands)

      :error ->
        apply(fun, [block | args])
    end
  end

  # What takes a function of the caller is a program.
  @impl true
  def reduce(out, tensor, acc, options, fun) do
    options = [type: out.type] ++ options
    jit(out, &Nx.reduce(&1, &2, options, fun), [tensor, acc])
  end

  @impl true
  def window_reduce(out, tensor, acc, shape, options, fun) do
    jit(out, &Nx.window_reduce(&1, &2, shape, options, fun), [tensor, acc])
  end

  defp jit(out, fun, args) do
    options = [compiler: ExBurn.Defn.Compiler, device: device_of(args), on_conflict: :force]
    %{out | data: Nx.Defn.jit_apply(fun, args, options).data}
  end

  callbacks = for {name, arity} <- Nx.Backend.behaviour_info(:callbacks), do: {name, arity}

  for {name, arity} <- callbacks, not Module.defines?(__MODULE__, {name, arity}, :def) do
    args = Macro.generate_arguments(arity - 1, __MODULE__)

    @impl true
    def unquote(name)(out, unquote_splicing(args)) do
      {op, operands} = operation(unquote(name), out, unquote(args))
      Check.values!(unquote(name), unquote(args))
      eval(out, op, operands)
    end
  end

  defp operation(name, out, args) do
    with :error <- Operation.new(name, out, args) do
      refuse(name, "given arguments of a kind that ExBurn does not support yet")
    end
  end

  # Of several results, `out` is a tuple.
  defp eval(out, {:linalg, op}, operands) do
    device = device_of(operands)
    refs = for operand <- operands, do: ref(operand, device)
    outs = if is_tuple(out), do: Tuple.to_list(out), else: [out]
    count = length(operands)

    graph = %{
      inputs: for(operand <- operands, do: %{dtype: type(operand), shape: dims(operand)}),
      instructions: [
        {:linalg,
         %{op: op, operands: Enum.to_list(0..(count - 1)), dtypes: Enum.map(outs, &type/1)}}
      ],
      outputs: Enum.to_list(count..(count + length(outs) - 1))
    }

    results = Enum.zip_with(outs, Engine.run(Engine.compile(graph), refs, device), &put/2)
    if is_tuple(out), do: List.to_tuple(results), else: hd(results)
  end

  defp eval(out, op, operands) do
    device = device_of(operands)
    refs = for operand <- operands, do: ref(operand, device)
    put(out, Engine.eval(op, refs, type(out), device))
  end

  defp put(out, ref), do: %{out | data: %__MODULE__{ref: ref}}

  # Only operands that are not on a device of ours need to know where the others are.
  defp device_of(operands) do
    if Enum.all?(operands, &match?(%T{data: %__MODULE__{}}, &1)) do
      :cpu
    else
      Enum.find_value(operands, &own_device/1) || Device.default()
    end
  end

  defp own_device(%T{data: %__MODULE__{ref: ref}}), do: Engine.device(ref)
  defp own_device(_other), do: nil

  defp ref(tensor, device \\ :cpu)
  defp ref(%T{data: %__MODULE__{ref: ref}}, _device), do: ref

  defp ref(number, device) when is_integer(number) do
    Engine.eval({:constant, %{value: number, shape: []}}, [], :s64, device)
  end

  defp ref(tensor, device) do
    Engine.from_binary(whole_bytes(Nx.to_binary(tensor)), type(tensor), dims(tensor), device)
  end

  defp device(options), do: options[:device] || Device.default()
  defp dims(%T{shape: shape}), do: Tuple.to_list(shape)
  defp type(%T{type: type}), do: Type.to_engine(type)

  defp refuse(op, reason), do: raise(Error, op: op, reason: reason)
end
