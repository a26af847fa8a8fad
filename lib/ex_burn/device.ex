defmodule ExBurn.Device do
  @moduledoc """
  The devices that this machine and this build have.

  A device is `:cpu`, `:cuda`, `:vulkan` or `:metal`. Wherever one is asked for, `:gpu` stands for
  the most capable that isn't the CPU.
  """

  alias ExBurn.{Engine, Error}

  @type t :: :cpu | :cuda | :vulkan | :metal

  @doc """
  The devices that work here, the most capable first. `:cpu` is always the last.

      iex> List.last(ExBurn.Device.available())
      :cpu
  """
  @spec available() :: [t()]
  def available, do: for({name, _title} <- known(), do: name)

  @doc """
  The devices of `available/0` but the CPU.

      iex> :cpu in ExBurn.Device.gpus()
      false
  """
  @spec gpus() :: [t()]
  def gpus, do: available() -- [:cpu]

  @doc """
  The device that tensors go to where none is named: what `ExBurn.configure!/1` chose, else
  `config :ex_burn, device: …`, else the most capable.

      iex> ExBurn.Device.default() in ExBurn.Device.available()
      true
  """
  @spec default() :: t()
  def default do
    case :persistent_term.get({__MODULE__, :default}, nil) do
      nil -> put_default(Application.get_env(:ex_burn, :device))
      device -> device
    end
  end

  @doc """
  Makes `device` the default of this node and returns it; `nil` stands for the most capable.

  Raises `ExBurn.Error` if it isn't available.

      iex> ExBurn.Device.put_default(:cpu)
      :cpu
  """
  @spec put_default(t() | :gpu | nil) :: t()
  def put_default(device) do
    device = resolve(device)
    :persistent_term.put({__MODULE__, :default}, device)
    device
  end

  @doc """
  The device that a caller's choice names; `nil` stands for the most capable.

  Raises `ExBurn.Error` if it isn't available.

      iex> ExBurn.Device.resolve(:cpu)
      :cpu
  """
  @spec resolve(t() | :gpu | nil) :: t()
  def resolve(nil), do: hd(available())

  def resolve(:gpu) do
    case gpus() do
      [gpu | _] -> gpu
      [] -> refuse(:gpu)
    end
  end

  def resolve(device) do
    if device in available(), do: device, else: refuse(device)
  end

  @doc """
  The device that an option names; without one, the default.

  Raises `ExBurn.Error` if it isn't available.

      iex> ExBurn.Device.choose(nil) == ExBurn.Device.default()
      true
  """
  @spec choose(t() | :gpu | nil) :: t()
  def choose(nil), do: default()
  def choose(device), do: resolve(device)

  @doc """
  What people call a device.

      iex> ExBurn.Device.title(:cpu)
      "CPU (Burn Flex)"
  """
  @spec title(t()) :: String.t()
  def title(device) do
    Enum.find_value(known(), fn {name, title} -> name == device && title end) ||
      refuse(device)
  end

  # The engine finds them once, on a dirty scheduler; every call of a compiled function asks.
  defp known do
    with nil <- :persistent_term.get({__MODULE__, :known}, nil) do
      devices = Engine.devices()
      :persistent_term.put({__MODULE__, :known}, devices)
      devices
    end
  end

  defp refuse(device) do
    raise Error,
      op: :device,
      reason: "given #{inspect(device)}, expected one of #{inspect(available())}",
      details: %{device: device}
  end
end
