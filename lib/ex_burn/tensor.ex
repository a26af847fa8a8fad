defmodule ExBurn.Tensor do
  @moduledoc """
  A tensor of the engine, outside of `Nx`.

      {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor([[1.0, 2.0, 3.0]]))
      tensor.shape
      #=> [1, 3]
      {:ok, nx} = ExBurn.Tensor.to_nx(ExBurn.BurnBridge.exp(tensor))

  `ExBurn.BurnBridge` computes with it. The struct says what is known without asking the device:

    * `:ref` - the engine's reference, which owns the memory
    * `:shape` - the size of every axis, outermost first; `[]` is a scalar
    * `:type` - `:s8`, `:s16`, `:s32`, `:s64`, `:u8`, `:u16`, `:u32`, `:u64`, `:f16`, `:bf16`,
      `:f32` or `:f64`
    * `:device` - where the elements are, see `ExBurn.Device`

  The memory goes when nothing refers to it any more, or at once with `free/1`. What was freed
  still has its shape and type, but every operation on it raises `ExBurn.Error`.

  ## With Nx

  `from_nx/1` and `to_nx/1` share the reference with the tensors of `ExBurn.Backend`: nothing is
  copied, and `free/1` frees both. Tensors of any other backend are copied to
  `ExBurn.Device.default/0`.
  """

  alias ExBurn.{Backend, Device, Engine, Error, Type}

  @enforce_keys [:ref, :shape, :type, :device]
  defstruct [:ref, :shape, :type, :device]

  @type t :: %__MODULE__{
          ref: reference(),
          shape: [pos_integer()],
          type: atom(),
          device: Device.t()
        }

  @doc false
  def from_ref(ref) do
    {type, shape} = Engine.spec(ref)
    %__MODULE__{ref: ref, shape: shape, type: type, device: Engine.device(ref)}
  end

  ## Data

  @doc """
  The tensor of Nx as a tensor of the engine.

  One of `ExBurn.Backend` is shared, one of another backend is copied to the default device. Names
  are dropped, and vectorized axes become ordinary ones, the first.

  The error is an `ExBurn.Error`: Nx doesn't have the type, or the tensor is deallocated.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor([[1, 2, 3]], type: :u8))
      iex> {tensor.shape, tensor.type}
      {[1, 3], :u8}

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor(Complex.new(1, 2)))
      iex> {tensor.shape, tensor.type}
      {[], :c64}
  """
  @spec from_nx(Nx.Tensor.t()) :: {:ok, t()} | {:error, term()}
  def from_nx(%Nx.Tensor{} = tensor), do: attempt(fn -> import_nx(tensor) end)

  @doc """
  `from_nx/1` of every tensor of a list; the first error where there is one.

      iex> {:ok, tensors} = ExBurn.Tensor.from_nx_batch([Nx.tensor([1.0, 2.0]), Nx.tensor(3)])
      iex> Enum.map(tensors, & &1.shape)
      [[2], []]
  """
  @spec from_nx_batch([Nx.Tensor.t()]) :: {:ok, [t()]} | {:error, term()}
  def from_nx_batch(tensors) when is_list(tensors) do
    attempt(fn -> Enum.map(tensors, &import_nx/1) end)
  end

  @doc """
  The tensor as one of Nx on `ExBurn.Backend`, which shares the reference.

  The error is an `ExBurn.Error`: the tensor is freed.

      iex> {:ok, tensor} = ExBurn.Tensor.from_binary(<<1, 2, 3, 4>>, [2, 2], :u8)
      iex> {:ok, nx} = ExBurn.Tensor.to_nx(tensor)
      iex> nx
      #Nx.Tensor<
        u8[2][2]
        [
          [1, 2],
          [3, 4]
        ]
      >
  """
  @spec to_nx(t()) :: {:ok, Nx.Tensor.t()} | {:error, term()}
  def to_nx(%__MODULE__{} = tensor), do: attempt(fn -> export_nx(tensor) end)

  @doc """
  `to_nx/1` of every tensor of a list; the first error where there is one.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor([1.0, 2.0]))
      iex> {:ok, [nx, _same]} = ExBurn.Tensor.to_nx_batch([tensor, tensor])
      iex> Nx.to_list(nx)
      [1.0, 2.0]
  """
  @spec to_nx_batch([t()]) :: {:ok, [Nx.Tensor.t()]} | {:error, term()}
  def to_nx_batch(tensors) when is_list(tensors) do
    attempt(fn -> Enum.map(tensors, &export_nx/1) end)
  end

  @doc """
  A tensor on the default device of the elements in `binary`, row-major and in native byte order.

  The error is an `ExBurn.Error`: the binary has another length than shape and type ask for, an
  axis is below 1, or the type isn't one of the engine's.

      iex> {:ok, tensor} = ExBurn.Tensor.from_binary(<<1.0::float-32-native>>, [1, 1], :f32)
      iex> ExBurn.Tensor.rank(tensor)
      2

      iex> {:error, error} = ExBurn.Tensor.from_binary(<<1, 2, 3>>, [2, 2], :u8)
      iex> error.op
      "from_binary"
  """
  @spec from_binary(binary(), [non_neg_integer()], atom()) :: {:ok, t()} | {:error, term()}
  def from_binary(binary, shape, type) do
    attempt(fn -> from_ref(Engine.from_binary(binary, type, shape, Device.default())) end)
  end

  ## What it is

  @doc """
  The size of every axis, outermost first.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.iota({2, 3}))
      iex> ExBurn.Tensor.shape(tensor)
      [2, 3]
  """
  @spec shape(t()) :: [non_neg_integer()]
  def shape(%__MODULE__{shape: shape}), do: shape

  @doc """
  The type of the elements.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor(1.0, type: :bf16))
      iex> ExBurn.Tensor.type(tensor)
      :bf16
  """
  @spec type(t()) :: atom()
  def type(%__MODULE__{type: type}), do: type

  @doc """
  The number of axes.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.iota({2, 3}))
      iex> ExBurn.Tensor.rank(tensor)
      2
  """
  @spec rank(t()) :: non_neg_integer()
  def rank(%__MODULE__{shape: shape}), do: length(shape)

  @doc """
  The number of elements.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.iota({2, 3}))
      iex> ExBurn.Tensor.numel(tensor)
      6
  """
  @spec numel(t()) :: non_neg_integer()
  def numel(%__MODULE__{shape: shape}), do: Enum.product(shape)

  ## Where it is

  @doc """
  The tensor on the CPU, under a reference of its own: freeing one leaves the other.

  Raises `ExBurn.Error` if the tensor is freed.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor([1.0]))
      iex> ExBurn.Tensor.to_cpu(tensor).device
      :cpu
  """
  @spec to_cpu(t()) :: t()
  def to_cpu(%__MODULE__{} = tensor), do: to_device(tensor, :cpu)

  @doc """
  The tensor on the most capable graphics processor, or on the one where it is already, under a
  reference of its own: freeing one leaves the other.

  Raises `ExBurn.Error` if there is none, or if the tensor is freed.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor([1.0]))
      iex> ExBurn.gpu_available?() == (try do
      ...>   ExBurn.Tensor.to_gpu(tensor).device != :cpu
      ...> rescue
      ...>   ExBurn.Error -> false
      ...> end)
      true
  """
  @spec to_gpu(t()) :: t()
  def to_gpu(%__MODULE__{device: :cpu} = tensor), do: to_device(tensor, Device.resolve(:gpu))
  def to_gpu(%__MODULE__{device: gpu} = tensor), do: to_device(tensor, gpu)

  @doc """
  Lets go of the memory now. Freeing again does nothing.

  A tensor of Nx that shares the reference is deallocated with it.

      iex> {:ok, tensor} = ExBurn.Tensor.from_nx(Nx.tensor([1.0]))
      iex> ExBurn.Tensor.free(tensor)
      :ok
      iex> ExBurn.Tensor.free(tensor)
      :ok
      iex> {:error, error} = ExBurn.Tensor.to_nx(tensor)
      iex> Exception.message(error)
      "spec: given a deallocated tensor, expected a tensor"
  """
  @spec free(t()) :: :ok
  def free(%__MODULE__{ref: ref}) do
    Engine.deallocate(ref)
    :ok
  end

  ## Helpers

  defp import_nx(%Nx.Tensor{data: %Backend{ref: ref}}), do: from_ref(ref)

  defp import_nx(%Nx.Tensor{} = tensor) do
    tensor = Nx.devectorize(tensor)
    type = Type.to_engine(tensor.type)
    shape = Tuple.to_list(tensor.shape)
    from_ref(Engine.from_binary(Nx.to_binary(tensor), type, shape, Device.default()))
  end

  defp export_nx(%__MODULE__{ref: ref}) do
    {type, shape} = Engine.spec(ref)
    %{Nx.template(List.to_tuple(shape), Type.to_nx(type)) | data: %Backend{ref: ref}}
  end

  defp to_device(%__MODULE__{ref: ref}, device), do: from_ref(Engine.to_device(ref, device))

  defp attempt(fun) do
    {:ok, fun.()}
  rescue
    error in Error -> {:error, error}
  end
end
