defmodule ExBurn do
  @moduledoc """
  Nx and Axon on the Rust deep-learning framework Burn.

      Nx.default_backend(ExBurn.Backend)
      t = Nx.tensor([1.0, 2.0, 3.0])
      Nx.add(t, t) |> Nx.to_list()
      #=> [2.0, 4.0, 6.0]

  `ExBurn.Backend` runs every operation of `Nx`, `ExBurn.Defn.Compiler` whole `defn` functions.
  This module tells what there is and sets it up.
  """

  alias ExBurn.{Backend, Device, Error, Nif}

  @version Mix.Project.config()[:version]

  @doc """
  The version of ExBurn.

      iex> ExBurn.version() == to_string(Application.spec(:ex_burn, :vsn))
      true
  """
  @spec version() :: String.t()
  def version, do: @version

  @doc """
  Makes `ExBurn.Backend` the default backend of `Nx`, in this process and in all that set none.

  ## Options

    * `:device` - `:cpu` or `:gpu`, or a device of `ExBurn.Device` (default: the most capable)
    * `:backend` - which kind of graphics processor: `:cuda`, `:vulkan` or `:metal`
      (default: the most capable)

  Raises `ExBurn.Error` if the device isn't available.

      iex> ExBurn.configure!(device: :cpu)
      :ok
      iex> {ExBurn.Backend, _options} = Nx.default_backend()
  """
  @spec configure!(keyword()) :: :ok
  def configure!(options \\ []) do
    options = Keyword.validate!(options, [:device, :backend])
    Device.put_default(chosen_device(options[:device], options[:backend]))
    Nx.global_default_backend(Backend)
    Nx.default_backend(Backend)
    :ok
  end

  defp chosen_device(:cpu, nil), do: :cpu
  defp chosen_device(device, nil), do: device
  defp chosen_device(device, backend) when device in [nil, :gpu, backend], do: backend

  defp chosen_device(device, backend) do
    raise Error,
      op: :configure!,
      reason: "given device #{inspect(device)} with backend #{inspect(backend)}, expected :gpu"
  end

  @doc """
  Whether the native library is loaded and computes.

      iex> ExBurn.available?()
      true
  """
  @spec available?() :: boolean()
  def available?, do: nif_loaded?() and smoke_test() == :ok

  @doc """
  Whether the native library is loaded.

      iex> ExBurn.nif_loaded?()
      true
  """
  @spec nif_loaded?() :: boolean()
  def nif_loaded? do
    is_binary(Nif.version())
  rescue
    _not_loaded in [ErlangError, UndefinedFunctionError] -> false
  end

  @doc """
  The number of functions that the native library registers.

      iex> ExBurn.nif_function_count() > 0
      true
  """
  @spec nif_function_count() :: non_neg_integer()
  def nif_function_count, do: Nif.function_count()

  @doc """
  Computes on the default device, through Nx, and compares with what must come out.

      iex> ExBurn.smoke_test()
      :ok
  """
  @spec smoke_test() :: :ok | {:error, String.t()}
  def smoke_test do
    product =
      Nx.with_default_backend(Backend, fn ->
        Nx.dot(Nx.tensor([[1.0, 2.0], [3.0, 4.0]]), Nx.tensor([5.0, 6.0]))
      end)

    case Nx.to_list(product) do
      [17.0, 39.0] -> :ok
      other -> {:error, "a product came out as #{inspect(other)}"}
    end
  rescue
    error -> {:error, Exception.message(error)}
  end

  @doc """
  The kind of device that tensors go to where none is named.

      iex> ExBurn.default_device() in [:cpu, :gpu]
      true
  """
  @spec default_device() :: :cpu | :gpu
  def default_device, do: if(Device.default() == :cpu, do: :cpu, else: :gpu)

  @doc """
  What people call the device that tensors go to where none is named.

      iex> is_binary(ExBurn.device_name())
      true
  """
  @spec device_name() :: String.t()
  def device_name, do: Device.title(Device.default())

  @doc """
  Whether a graphics processor can be used.

      iex> ExBurn.gpu_available?() == (ExBurn.Device.gpus() != [])
      true
  """
  @spec gpu_available?() :: boolean()
  def gpu_available?, do: Device.gpus() != []

  @doc """
  Whether an NVIDIA graphics processor can be used.

      iex> ExBurn.cuda_available?() == (:cuda in ExBurn.Device.available())
      true
  """
  @spec cuda_available?() :: boolean()
  def cuda_available?, do: :cuda in Device.available()

  @doc """
  Version, device and backends, for people.

      iex> ExBurn.summary() =~ "ExBurn v"
      true
  """
  @spec summary() :: String.t()
  def summary do
    gpus = Device.gpus()

    """
    ExBurn v#{version()}
    ──────────────────────────────
    Device: #{device_name()}
    GPU: #{if gpus == [], do: "not available", else: "available"}
    Backends: #{Enum.join(Device.available(), ", ")}
    """
  end
end
