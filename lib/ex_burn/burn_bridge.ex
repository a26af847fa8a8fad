defmodule ExBurn.BurnBridge do
  @moduledoc """
  Operations on `ExBurn.Tensor`, without `Nx` in between.

      alias ExBurn.BurnBridge

      a = BurnBridge.ones([2, 3], :f32)
      b = BurnBridge.rand([3, 4], :f32, -1.0, 1.0)
      c = a |> BurnBridge.matmul(b) |> BurnBridge.relu()
      {:ok, nx} = BurnBridge.to_nx(c)

  Every function takes tensors of any of the engine's types and of any rank. The type of a result
  is the one that Nx gives: two operands meet in `Nx.Type.merge/2`, and what isn't closed over the
  integers (`div/2`, `exp/1`, `mean/1`, …) makes `:f32` of them. Shapes broadcast as in Nx: aligned
  at the last axis, with axes of size 1 stretched.

  The result is on the device of the operands, which must be on one; what takes no operand goes to
  `ExBurn.Device.default/0`.

  Bad arguments raise an `ExBurn.Error` that names the operation, what it was given and what it
  expected; the functions that return `{:ok, value}` return `{:error, error}` instead. So does a
  tensor after `free/1`.
  """

  import Kernel, except: [abs: 1, div: 2]

  alias ExBurn.{Backend, Device, Engine, Error, Nif, Tensor, Type}
  alias ExBurn.Defn.Compiler

  @typedoc "The name of a type, such as `:f32`."
  @type type :: atom()

  @typedoc "The size of every axis, outermost first."
  @type shape :: [non_neg_integer()]

  ## Creation

  for {name, value} <- [zeros: 0, ones: 1] do
    @doc """
    A tensor of #{name}.

    Raises `ExBurn.Error` for an axis below 1 or a type that the engine doesn't have.

        iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.#{name}([2, 2], :s32))
        iex> Nx.to_list(nx)
        #{inspect([[value, value], [value, value]])}
    """
    @spec unquote(name)(shape(), type()) :: Tensor.t()
    def unquote(name)(shape, type \\ :f32) do
      check_new(unquote(name), shape, type)
      create({:constant, %{value: unquote(value), shape: shape}}, type, Device.default())
    end
  end

  @doc """
  Random elements, uniform from `low` up to but not including `high`; for an integer type, the
  integers of that range.

  The generator is Threefry (`Nx.Random`) on the default device, with a new seed from `:rand` at
  each call: `:rand.seed/2` in the calling process makes it repeat. Float types narrower than their
  range may round up to `high` itself.

  Raises `ExBurn.Error` unless `low` is below `high` and the type holds the range, which for
  integers is one of fewer than 2^32.

      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.rand([100], :f32, -1.0, 1.0))
      iex> Enum.all?(Nx.to_list(nx), &(&1 >= -1.0 and &1 <= 1.0))
      true

      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.rand([100], :u8, 3, 5))
      iex> Enum.uniq(Nx.to_list(nx)) -- [3, 4]
      []
  """
  @spec rand(shape(), type(), number(), number()) :: Tensor.t()
  def rand(shape, type \\ :f32, low \\ 0.0, high \\ 1.0) do
    draw(shape, type, low, high, Device.default())
  end

  @doc """
  Positions along `axis`, or, where it is `nil`, of all elements in row-major order.

  Raises `ExBurn.Error` for an axis that isn't below the rank.

      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.iota([2, 3], 1, :f32))
      iex> Nx.to_list(nx)
      [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]

      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.iota([2, 2]))
      iex> Nx.to_list(nx)
      [[0, 1], [2, 3]]
  """
  @spec iota(shape(), non_neg_integer() | nil, type()) :: Tensor.t()
  def iota(shape, axis \\ nil, type \\ :s32) do
    check_new(:iota, shape, type)
    if axis != nil, do: check_axis(:iota, shape, axis)
    create({:iota, %{shape: shape, axis: axis}}, type, Device.default())
  end

  @doc """
  A tensor of the elements in `binary`; see `ExBurn.Tensor.from_binary/3`.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_binary(<<1, 2>>, [2], :u8)
      iex> ExBurn.BurnBridge.tensor_shape(tensor)
      [2]
  """
  @spec from_binary(binary(), shape(), type()) :: {:ok, Tensor.t()} | {:error, term()}
  defdelegate from_binary(binary, shape, type), to: Tensor

  @doc """
  The tensor of Nx as one of the engine; see `ExBurn.Tensor.from_nx/1`.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([1.0, 2.0]))
      iex> ExBurn.BurnBridge.tensor_type(tensor)
      :f32
  """
  @spec from_nx(Nx.Tensor.t()) :: {:ok, Tensor.t()} | {:error, term()}
  defdelegate from_nx(tensor), to: Tensor

  @doc """
  The tensor as one of Nx; see `ExBurn.Tensor.to_nx/1`.

      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.ones([2]))
      iex> Nx.to_list(nx)
      [1.0, 1.0]
  """
  @spec to_nx(Tensor.t()) :: {:ok, Nx.Tensor.t()} | {:error, term()}
  defdelegate to_nx(tensor), to: Tensor

  ## What and where it is

  for {name, what, result, expected} <- [
        {:shape, "The size of every axis, outermost first", quote(do: shape()), [2, 3]},
        {:type, "The type of the elements", quote(do: type()), :f32},
        {:rank, "The number of axes", quote(do: non_neg_integer()), 2},
        {:numel, "The number of elements", quote(do: non_neg_integer()), 6}
      ] do
    @doc """
    #{what}.

        iex> ExBurn.BurnBridge.tensor_#{name}(ExBurn.BurnBridge.zeros([2, 3], :f32))
        #{inspect(expected)}
    """
    @spec unquote(:"tensor_#{name}")(Tensor.t()) :: unquote(result)
    defdelegate unquote(:"tensor_#{name}")(tensor), to: Tensor, as: name
  end

  @doc """
  The tensor on the CPU; see `ExBurn.Tensor.to_cpu/1`.

      iex> ExBurn.BurnBridge.to_cpu(ExBurn.BurnBridge.zeros([2])).device
      :cpu
  """
  @spec to_cpu(Tensor.t()) :: Tensor.t()
  defdelegate to_cpu(tensor), to: Tensor

  @doc """
  The tensor on a graphics processor; see `ExBurn.Tensor.to_gpu/1`.

      iex> ExBurn.BurnBridge.gpu_available?() == (try do
      ...>   ExBurn.BurnBridge.to_gpu(ExBurn.BurnBridge.zeros([2])).device != :cpu
      ...> rescue
      ...>   ExBurn.Error -> false
      ...> end)
      true
  """
  @spec to_gpu(Tensor.t()) :: Tensor.t()
  defdelegate to_gpu(tensor), to: Tensor

  @doc """
  Lets go of the memory now; see `ExBurn.Tensor.free/1`.

      iex> ExBurn.BurnBridge.free(ExBurn.BurnBridge.zeros([2]))
      :ok
  """
  @spec free(Tensor.t()) :: :ok
  defdelegate free(tensor), to: Tensor

  @doc """
  Whether a graphics processor can be used.

      iex> ExBurn.BurnBridge.gpu_available?() == ExBurn.gpu_available?()
      true
  """
  @spec gpu_available?() :: boolean()
  defdelegate gpu_available?, to: ExBurn

  @doc """
  The memory of the first graphics processor, in bytes; all 0 where there is none.

  It is what `nvidia-smi` tells, or the kernel of an AMD processor, and counts every program on it.
  On other processors, `:used` counts the tensors of this one, and `:total` and `:free` are 0.

      iex> info = ExBurn.BurnBridge.gpu_memory_info()
      iex> Enum.sort(Map.keys(info))
      [:free, :total, :used]
  """
  @spec gpu_memory_info() :: %{
          total: non_neg_integer(),
          used: non_neg_integer(),
          free: non_neg_integer()
        }
  def gpu_memory_info do
    if gpu_available?() do
      nvidia_memory() || amd_memory() || %{total: 0, used: Nif.memory_used(), free: 0}
    else
      %{total: 0, used: 0, free: 0}
    end
  end

  defp nvidia_memory do
    visible = System.get_env("CUDA_VISIBLE_DEVICES", "0") |> String.split(",") |> hd()

    arguments = [
      "--id=#{visible}",
      "--query-gpu=memory.total,memory.used,memory.free",
      "--format=csv,noheader,nounits"
    ]

    with program when program != nil <- System.find_executable("nvidia-smi"),
         {line, 0} <- System.cmd(program, arguments, stderr_to_stdout: true),
         [[total], [used], [free]] <- Regex.scan(~r/\d+/, line) do
      mebibytes = fn text -> String.to_integer(text) * 1024 * 1024 end
      %{total: mebibytes.(total), used: mebibytes.(used), free: mebibytes.(free)}
    else
      _not_nvidia -> nil
    end
  end

  defp amd_memory do
    with [file | _] <- Path.wildcard("/sys/class/drm/card*/device/mem_info_vram_total"),
         {:ok, total} <- File.read(file),
         {:ok, used} <- File.read(String.replace_suffix(file, "total", "used")) do
      [total, used] = for text <- [total, used], do: text |> String.trim() |> String.to_integer()
      %{total: total, used: used, free: total - used}
    else
      _not_amd -> nil
    end
  end

  ## Element by element

  for {name, op, what, given, expected} <- [
        {:abs, :abs, "The absolute value", [-1, 2], [1, 2]},
        {:neg, :negate, "The negative", [-1, 2], [1, -2]}
      ] do
    @doc """
    #{what} of every element, in the type of the tensor; integers wrap.

        iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor(#{inspect(given)}))
        iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.#{name}(tensor))
        iex> Nx.to_list(nx)
        #{inspect(expected)}
    """
    @spec unquote(name)(Tensor.t()) :: Tensor.t()
    def unquote(name)(%Tensor{} = tensor), do: eval({:unary, unquote(op)}, [tensor], tensor.type)
  end

  for {name, what, given, expected} <- [
        {:exp, "The exponential", [0.0], [1.0]},
        {:log, "The natural logarithm", [1, 1], [0.0, 0.0]},
        {:sqrt, "The square root", [4, 9], [2.0, 3.0]},
        {:sigmoid, "The logistic function, `1 / (1 + exp(-x))`,", [0.0], [0.5]}
      ] do
    @doc """
    #{what} of every element; integers give `:f32`.

        iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor(#{inspect(given)}))
        iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.#{name}(tensor))
        iex> Nx.to_list(nx)
        #{inspect(expected)}
    """
    @spec unquote(name)(Tensor.t()) :: Tensor.t()
    def unquote(name)(%Tensor{} = tensor) do
      eval({:unary, unquote(name)}, [tensor], float(tensor.type))
    end
  end

  @doc """
  Every element, but at least 0, in the type of the tensor.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([-1.5, 2.5]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.relu(tensor))
      iex> Nx.to_list(nx)
      [0.0, 2.5]
  """
  @spec relu(Tensor.t()) :: Tensor.t()
  def relu(%Tensor{} = tensor), do: with_number(:max, tensor, 0)

  for {name, op, what, expected} <- [
        {:add, :add, "The sums", [5, 8]},
        {:sub, :subtract, "The differences", [3, 4]},
        {:mul, :multiply, "The products", [4, 12]}
      ] do
    @doc """
    #{what} of the elements of two tensors, in their merged type; integers wrap.

    Raises `ExBurn.Error` for shapes that don't broadcast and for tensors of two devices.

        iex> {:ok, left} = ExBurn.BurnBridge.from_nx(Nx.tensor([4, 6]))
        iex> {:ok, right} = ExBurn.BurnBridge.from_nx(Nx.tensor([1, 2]))
        iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.#{name}(left, right))
        iex> Nx.to_list(nx)
        #{inspect(expected)}
    """
    @spec unquote(name)(Tensor.t(), Tensor.t()) :: Tensor.t()
    def unquote(name)(%Tensor{} = left, %Tensor{} = right) do
      eval({:binary, unquote(op)}, [left, right], merge(left, right))
    end
  end

  @doc """
  The quotients of the elements of two tensors, in their merged type; two integers give `:f32`.

  Raises `ExBurn.Error` for shapes that don't broadcast and for tensors of two devices.

      iex> {:ok, left} = ExBurn.BurnBridge.from_nx(Nx.tensor([1, 6]))
      iex> {:ok, right} = ExBurn.BurnBridge.from_nx(Nx.tensor(4))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.div(left, right))
      iex> Nx.to_list(nx)
      [0.25, 1.5]
  """
  @spec div(Tensor.t(), Tensor.t()) :: Tensor.t()
  def div(%Tensor{} = left, %Tensor{} = right) do
    eval({:binary, :divide}, [left, right], float(merge(left, right)))
  end

  @doc """
  The elements raised to an exponent, a number or a tensor, in the type that `Nx.pow/2` gives.

  Raises `ExBurn.Error` for shapes that don't broadcast and for tensors of two devices.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([1, 2, 3]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.pow(tensor, 2))
      iex> Nx.to_list(nx)
      [1, 4, 9]
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.pow(tensor, tensor))
      iex> Nx.to_list(nx)
      [1, 4, 27]
  """
  @spec pow(Tensor.t(), Tensor.t() | number()) :: Tensor.t()
  def pow(%Tensor{} = tensor, %Tensor{} = exponent) do
    eval({:binary, :pow}, [tensor, exponent], merge(tensor, exponent))
  end

  def pow(%Tensor{} = tensor, exponent) when is_number(exponent) do
    type = tensor.type |> Type.to_nx() |> Nx.Type.merge_number(exponent) |> Type.to_engine()
    with_number(:pow, tensor, exponent, type)
  end

  ## Reductions

  @doc """
  The sum of all elements, a scalar, in the type that `Nx.sum/1` gives.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([[1, 2], [3, 4]]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.sum(tensor))
      iex> Nx.to_number(nx)
      10
  """
  @spec sum(Tensor.t()) :: Tensor.t()
  def sum(%Tensor{} = tensor) do
    total(tensor, tensor.type |> Type.to_nx() |> Nx.Type.to_aggregate() |> Type.to_engine())
  end

  @doc """
  The mean of all elements, a scalar; that of integers is `:f32`.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([[1, 2], [3, 4]]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.mean(tensor))
      iex> Nx.to_number(nx)
      2.5
  """
  @spec mean(Tensor.t()) :: Tensor.t()
  def mean(%Tensor{} = tensor) do
    tensor
    |> total(wide(tensor.type))
    |> divide(Tensor.numel(tensor))
    |> as_type(float(tensor.type))
  end

  ## Shape

  @doc """
  The same elements in row-major order under another shape.

  Raises `ExBurn.Error` unless `shape` has as many elements.

      iex> reshaped = ExBurn.BurnBridge.reshape(ExBurn.BurnBridge.zeros([2, 3]), [6, 1])
      iex> reshaped.shape
      [6, 1]
  """
  @spec reshape(Tensor.t(), shape()) :: Tensor.t()
  def reshape(%Tensor{} = tensor, shape) do
    check_shape(:reshape, shape)
    eval({:reshape, %{shape: shape}}, [tensor])
  end

  @doc """
  The tensor with its last two axes exchanged; one of fewer axes stays as it is.

      iex> ExBurn.BurnBridge.transpose(ExBurn.BurnBridge.zeros([4, 2, 3])).shape
      [4, 3, 2]
  """
  @spec transpose(Tensor.t()) :: Tensor.t()
  def transpose(%Tensor{} = tensor) do
    case Tensor.rank(tensor) do
      rank when rank < 2 -> eval({:transpose, %{axes: axes(tensor)}}, [tensor])
      rank -> transpose(tensor, rank - 2, rank - 1)
    end
  end

  @doc """
  The tensor with two axes exchanged.

  Raises `ExBurn.Error` for an axis that isn't below the rank.

      iex> ExBurn.BurnBridge.transpose(ExBurn.BurnBridge.zeros([4, 2, 3]), 0, 2).shape
      [3, 2, 4]
  """
  @spec transpose(Tensor.t(), non_neg_integer(), non_neg_integer()) :: Tensor.t()
  def transpose(%Tensor{} = tensor, axis1, axis2) do
    check_axis(:transpose, tensor.shape, axis1)
    check_axis(:transpose, tensor.shape, axis2)

    axes =
      Enum.map(axes(tensor), fn
        ^axis1 -> axis2
        ^axis2 -> axis1
        axis -> axis
      end)

    eval({:transpose, %{axes: axes}}, [tensor])
  end

  @doc """
  The tensor stretched to a shape: aligned at the last axis, axes of size 1 and missing ones repeat.

  Raises `ExBurn.Error` for a shape that the tensor doesn't stretch to.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([[1, 2]]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.broadcast(tensor, [3, 2]))
      iex> Nx.to_list(nx)
      [[1, 2], [1, 2], [1, 2]]
  """
  @spec broadcast(Tensor.t(), shape()) :: Tensor.t()
  def broadcast(%Tensor{} = tensor, shape) do
    check_shape(:broadcast, shape)
    added = length(shape) - Tensor.rank(tensor)

    if added < 0 do
      refuse(:broadcast, "#{describe(tensor)} to shape #{show(shape)}", "at least as many axes")
    end

    eval({:broadcast, %{shape: shape, axes: Enum.map(axes(tensor), &(&1 + added))}}, [tensor])
  end

  ## Products

  @doc """
  The matrix product, in the merged type.

  The last two axes are rows and columns, those before them count matrices and broadcast. A tensor
  of rank 1 is a row on the left and a column on the right, and leaves no axis behind; one of rank
  0 multiplies every element.

  Raises `ExBurn.Error` unless the left has as many columns as the right has rows and the axes before
  them broadcast.

      iex> {:ok, left} = ExBurn.BurnBridge.from_nx(Nx.tensor([[1, 2], [3, 4]]))
      iex> {:ok, right} = ExBurn.BurnBridge.from_nx(Nx.tensor([[5], [6]]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.matmul(left, right))
      iex> Nx.to_list(nx)
      [[17], [39]]
  """
  @spec matmul(Tensor.t(), Tensor.t()) :: Tensor.t()
  def matmul(%Tensor{} = left, %Tensor{} = right) do
    left_rank = Tensor.rank(left)
    right_rank = Tensor.rank(right)

    cond do
      left_rank == 0 or right_rank == 0 ->
        mul(left, right)

      Enum.at(left.shape, -1) != Enum.at(right.shape, max(right_rank - 2, 0)) ->
        refuse_pair(:matmul, left, right, "as many columns on the left as rows on the right")

      right_rank <= 2 ->
        dot(left, [left_rank - 1], [], right, [0], [])

      left_rank == 1 ->
        dot(left, [0], [], right, [right_rank - 2], [])

      not Enum.all?(zip_shapes(left, right, &(&1 == &2 or 1 in [&1, &2]))) ->
        refuse_pair(:matmul, left, right, "axes that broadcast before the last two")

      true ->
        matmul_batched(left, right)
    end
  end

  defp matmul_batched(left, right) do
    batch = zip_shapes(left, right, &max/2)
    count = length(batch)
    batch_axes = Enum.to_list(0..(count - 1))
    stretch = fn tensor -> broadcast(tensor, batch ++ Enum.take(tensor.shape, -2)) end
    dot(stretch.(left), [count + 1], batch_axes, stretch.(right), [count], batch_axes)
  end

  # Over the axes before the last two, aligned at their end.
  defp zip_shapes(left, right, fun) do
    rank = max(Tensor.rank(left), Tensor.rank(right))

    [left, right] =
      for %{shape: shape} <- [left, right] do
        Enum.drop(List.duplicate(1, rank - length(shape)) ++ shape, -2)
      end

    Enum.zip_with(left, right, fun)
  end

  defp dot(left, contract_left, batch_left, right, contract_right, batch_right) do
    attributes = %{
      contract_left: contract_left,
      batch_left: batch_left,
      contract_right: contract_right,
      batch_right: batch_right
    }

    eval({:dot, attributes}, [left, right], merge(left, right))
  end

  ## Networks

  @doc """
  The softmax along an axis: exponentials that add up to 1. Integers give `:f32`.

  Raises `ExBurn.Error` for an axis that isn't below the rank.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([[0, 0], [1000, 1000]]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.softmax(tensor, 1))
      iex> Nx.to_list(nx)
      [[0.5, 0.5], [0.5, 0.5]]
  """
  @spec softmax(Tensor.t(), non_neg_integer()) :: Tensor.t()
  def softmax(%Tensor{} = tensor, axis) do
    check_axis(:softmax, tensor.shape, axis)
    exponentials = tensor |> below_max(axis) |> exp()
    exponentials |> div(sum_along(exponentials, axis)) |> as_type(float(tensor.type))
  end

  @doc """
  Zeroes each element with the probability `rate` and divides the others by `1 - rate`, so that the
  mean stays. Without `training?`, it is the tensor itself.

  The draws are those of `rand/4`. Integers give `:f32`.

  Raises `ExBurn.Error` for a rate that isn't from 0 to 1.

      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.dropout(ExBurn.BurnBridge.ones([100]), 0.5, true))
      iex> Enum.uniq(Nx.to_list(nx)) -- [0.0, 2.0]
      []

      iex> tensor = ExBurn.BurnBridge.ones([100])
      iex> ExBurn.BurnBridge.dropout(tensor, 0.5, false) == tensor
      true
  """
  @spec dropout(Tensor.t(), float(), boolean()) :: Tensor.t()
  def dropout(%Tensor{} = tensor, rate, training? \\ false) when is_boolean(training?) do
    unless is_number(rate) and rate >= 0 and rate <= 1 do
      refuse(:dropout, "rate #{inspect(rate)}", "a number from 0 to 1")
    end

    if training?, do: drop(tensor, rate), else: tensor
  end

  defp drop(tensor, rate) do
    type = float(tensor.type)
    kept = draw(tensor.shape, :f32, 0.0, 1.0, tensor.device)
    kept = eval({:binary, :greater_equal}, [kept, number(rate, :f32, tensor)], :u8)
    scaled = if rate < 1, do: tensor |> as_type(wide(type)) |> divide(1 - rate), else: tensor
    eval({:choose, :select}, [kept, scaled, number(0, type, tensor)], type)
  end

  @doc """
  The tensor shifted and scaled to a mean of 0 and a variance of 1 along an axis.

  That is `(x - mean) / sqrt(variance + epsilon)` with the variance of all elements, not of a
  sample. Integers give `:f32`.

  Raises `ExBurn.Error` for an axis that isn't below the rank.

      iex> {:ok, tensor} = ExBurn.BurnBridge.from_nx(Nx.tensor([[1.0, 3.0], [10.0, 20.0]]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.layer_norm(tensor, 1, 0.0))
      iex> Nx.to_list(nx)
      [[-1.0, 1.0], [-1.0, 1.0]]
  """
  @spec layer_norm(Tensor.t(), non_neg_integer(), float()) :: Tensor.t()
  def layer_norm(%Tensor{} = tensor, axis, epsilon \\ 1.0e-5) when is_number(epsilon) do
    check_axis(:layer_norm, tensor.shape, axis)
    size = Enum.at(tensor.shape, axis)
    wide = as_type(tensor, wide(tensor.type))
    centred = sub(wide, wide |> sum_along(axis) |> divide(size))
    variance = centred |> mul(centred) |> sum_along(axis) |> divide(size)
    deviation = sqrt(with_number(:add, variance, epsilon))
    centred |> div(deviation) |> as_type(float(tensor.type))
  end

  @doc """
  The cross-entropy of predictions and targets, a scalar.

  The last axis counts the classes, all others count examples. The predictions are logits, what a
  model gives whose last layer has no activation: their softmax is the prediction. The targets are
  one-hot, or any probabilities, and have the shape of the predictions. The loss of an example is
  `-sum(target * log(softmax(prediction)))`, the result is the mean over the examples. It is finite
  however far a prediction is off, and classes whose target is 0 count nothing even at a logit of
  negative infinity.

  The type is the merged one; integers give `:f32`.

  Raises `ExBurn.Error` for two shapes, for scalars and for tensors of two devices.

      iex> {:ok, predictions} = ExBurn.BurnBridge.from_nx(Nx.tensor([[0.0, 1000.0], [1000.0, 0.0]]))
      iex> {:ok, targets} = ExBurn.BurnBridge.from_nx(Nx.tensor([[0, 1], [0, 1]]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.cross_entropy(predictions, targets))
      iex> Nx.to_number(nx)
      500.0
  """
  @spec cross_entropy(Tensor.t(), Tensor.t()) :: Tensor.t()
  def cross_entropy(%Tensor{} = predictions, %Tensor{} = targets) do
    check_same_shape(:cross_entropy, predictions, targets)
    classes_axis = Tensor.rank(predictions) - 1
    check_axis(:cross_entropy, predictions.shape, classes_axis)

    type = float(merge(predictions, targets))
    logits = predictions |> as_type(wide(type)) |> below_max(classes_axis)
    log_total = logits |> exp() |> sum_along(classes_axis) |> log()
    terms = mul(targets, sub(logits, log_total))
    terms = eval({:choose, :select}, [targets, terms, number(0, terms.type, terms)], terms.type)

    examples = Kernel.div(Tensor.numel(predictions), List.last(predictions.shape))
    terms |> total(terms.type) |> divide(-examples) |> as_type(type)
  end

  @doc """
  The mean squared error of predictions and targets, a scalar, in the merged type; integers give
  `:f32`.

  Raises `ExBurn.Error` for two shapes and for tensors of two devices.

      iex> {:ok, predictions} = ExBurn.BurnBridge.from_nx(Nx.tensor([1.0, 2.0]))
      iex> {:ok, targets} = ExBurn.BurnBridge.from_nx(Nx.tensor([1.0, 5.0]))
      iex> {:ok, nx} = ExBurn.BurnBridge.to_nx(ExBurn.BurnBridge.mse(predictions, targets))
      iex> Nx.to_number(nx)
      4.5
  """
  @spec mse(Tensor.t(), Tensor.t()) :: Tensor.t()
  def mse(%Tensor{} = predictions, %Tensor{} = targets) do
    check_same_shape(:mse, predictions, targets)
    type = float(merge(predictions, targets))
    difference = eval({:binary, :subtract}, [predictions, targets], wide(type))
    difference |> mul(difference) |> mean() |> as_type(type)
  end

  ## Random draws

  defp draw(shape, type, low, high, device) do
    check_new(:rand, shape, type)

    unless is_number(low) and is_number(high) and low < high do
      refuse(
        :rand,
        "from #{inspect(low)} to #{inspect(high)}",
        "two numbers, the lower one first"
      )
    end

    sample(List.to_tuple(shape), Type.to_nx(type), low, high, device)
  end

  defp sample(shape, {kind, bits} = type, low, high, device) when kind in [:s, :u] do
    {low, high} = {ceil(low), ceil(high)}
    {least, greatest} = range(kind, bits)

    unless low < high and low >= least and high - 1 <= greatest and high - low < 2 ** 32 do
      given = "integers from #{low} to below #{high}"
      refuse(:rand, given, "fewer than 2^32 integers from #{least} to #{greatest}")
    end

    # Counted from `low`, so that 32 bits hold every range; the sum wraps back into it.
    random(device, [{high - low, :u32}, {low, type}], fn key, count, low ->
      {offset, _key} = Nx.Random.randint(key, Nx.u32(0), count, shape: shape, type: :u32)
      Nx.add(Nx.as_type(offset, type), low)
    end)
  end

  defp sample(shape, type, low, high, device) do
    random(device, [{low, type}, {high, type}], fn key, low, high ->
      {sample, _key} = Nx.Random.uniform(key, low, high, shape: shape, type: type)
      sample
    end)
  end

  defp range(:s, bits), do: {-(2 ** (bits - 1)), 2 ** (bits - 1) - 1}
  defp range(:u, bits), do: {0, 2 ** bits - 1}

  defp random(device, bounds, fun) do
    seed = :rand.uniform(2 ** 63)

    arguments =
      for {value, type} <- [{seed, :u64} | bounds] do
        Nx.tensor(value, type: type, backend: {Backend, device: device})
      end

    nx =
      Nx.Defn.jit_apply(
        fn seed, first, second -> fun.(Nx.Random.key(seed), first, second) end,
        arguments,
        compiler: Compiler,
        device: device
      )

    Tensor.from_ref(nx.data.ref)
  end

  ## Steps of the operations above

  defp eval(op, [%Tensor{type: type} | _] = tensors), do: eval(op, tensors, type)

  defp eval(op, [%Tensor{device: device} | _] = tensors, type) do
    Tensor.from_ref(Engine.eval(op, Enum.map(tensors, & &1.ref), type, device))
  end

  defp create(op, type, device), do: Tensor.from_ref(Engine.eval(op, [], type, device))

  defp number(value, type, %Tensor{device: device}) do
    create({:constant, %{value: value, shape: []}}, type, device)
  end

  defp with_number(op, tensor, value, type \\ nil) do
    type = type || tensor.type
    eval({:binary, op}, [tensor, number(value, type, tensor)], type)
  end

  defp divide(tensor, value), do: with_number(:divide, tensor, value)

  defp total(tensor, type), do: reduce(:sum, tensor, axes(tensor), false, type)
  defp sum_along(tensor, axis), do: reduce(:sum, tensor, [axis], true, tensor.type)

  # Against overflow of the exponential.
  defp below_max(tensor, axis) do
    tensor = as_type(tensor, wide(tensor.type))
    sub(tensor, reduce(:reduce_max, tensor, [axis], true, tensor.type))
  end

  defp reduce(kind, tensor, axes, keep_axes, type) do
    eval({:reduce, %{kind: kind, axes: axes, keep_axes: keep_axes}}, [tensor], type)
  end

  defp as_type(%Tensor{type: type} = tensor, type), do: tensor
  defp as_type(tensor, type), do: eval({:convert, :as_type}, [tensor], type)

  defp axes(tensor), do: Enum.to_list(0..(Tensor.rank(tensor) - 1)//1)

  defp merge(left, right) do
    Type.to_engine(Nx.Type.merge(Type.to_nx(left.type), Type.to_nx(right.type)))
  end

  defp float(type), do: type |> Type.to_nx() |> Nx.Type.to_floating() |> Type.to_engine()

  # The type of the steps in between: sums in 16 bits would overflow or lose their last terms.
  defp wide(type) do
    case float(type) do
      narrow when narrow in [:f16, :bf16] -> :f32
      type -> type
    end
  end

  ## Refusals

  defp check_new(op, shape, type) do
    check_shape(op, shape)

    unless type in Type.names() do
      expected = "one of #{Enum.map_join(Type.names(), ", ", &inspect/1)}"
      refuse(op, "type #{inspect(type)}", expected)
    end
  end

  defp check_shape(op, shape) do
    unless is_list(shape) and Enum.all?(shape, &(is_integer(&1) and &1 > 0)) do
      refuse(op, "shape #{inspect(shape)}", "a list of sizes of at least 1")
    end
  end

  defp check_axis(op, shape, axis) do
    unless is_integer(axis) and axis in 0..(length(shape) - 1)//1 do
      given = "axis #{inspect(axis)} of shape #{show(shape)}"
      refuse(op, given, "an axis below the rank #{length(shape)}")
    end
  end

  defp check_same_shape(op, left, right) do
    unless left.shape == right.shape do
      refuse_pair(op, left, right, "two tensors of one shape")
    end
  end

  defp refuse_pair(op, left, right, expected) do
    refuse(op, "#{describe(left)} and #{describe(right)}", expected)
  end

  defp describe(tensor), do: "#{tensor.type} #{show(tensor.shape)}"
  defp show(shape), do: "{#{Enum.join(shape, ", ")}}"

  defp refuse(op, given, expected) do
    raise Error.from_tuple({:error, {op, given, expected}})
  end
end
