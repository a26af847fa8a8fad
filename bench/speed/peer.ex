defmodule ExBurn.Bench.Peer do
  @moduledoc false
  # A process of peers.py, which times the workloads in PyTorch or JAX.

  @script Path.expand("../peers.py", __DIR__)
  @longest_line 1_000_000

  @enforce_keys [:name, :version, :port]
  defstruct [:name, :version, :port]

  @doc "The peer, or why there is none."
  def start(name, device, environment \\ []) do
    case System.find_executable(python()) do
      nil -> {:error, "#{python()} not found"}
      path -> open(path, name, device, environment)
    end
  end

  defp python, do: System.get_env("EXBURN_BENCH_PYTHON", "python3")

  defp open(python, name, device, environment) do
    device = if device == :cpu, do: "cpu", else: "cuda"

    port =
      Port.open({:spawn_executable, python}, [
        :binary,
        :exit_status,
        line: @longest_line,
        args: ["-B", @script, name, device],
        env: for({key, value} <- environment, do: {to_charlist(key), to_charlist(value)})
      ])

    case answer(port) do
      %{"version" => version} -> {:ok, %__MODULE__{name: name, version: version, port: port}}
      %{"missing" => reason} -> {:error, reason}
    end
  end

  def ask(peer, request) do
    Port.command(peer.port, [JSON.encode!(request), "\n"])
    answer(peer.port)
  end

  def stop(peer), do: Port.close(peer.port)

  defp answer(port) do
    receive do
      {^port, {:data, {:eol, line}}} -> JSON.decode!(line)
      {^port, {:exit_status, status}} -> raise "peers.py ended with status #{status}"
    end
  end
end
