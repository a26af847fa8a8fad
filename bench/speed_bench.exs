# Times the workloads beside PyTorch and JAX: mix run bench/speed_bench.exs [options]
#
#   --only W3,W6   these workloads alone; no file of results is written
#   --repeat 30    timed calls of each
#   --device cpu   a device of ExBurn.Device
#   --big          the sizes for a GPU
#   --no-peers     without PyTorch and JAX; no file of results is written
#
# EXBURN_BENCH_PYTHON names the Python that has them.

Code.require_file("speed/load.exs", __DIR__)

defmodule ExBurn.Bench.Main do
  @moduledoc false

  alias ExBurn.Bench.{Comparison, Machine, Memory, Overhead, Peer, Report, Workloads}

  @switches [only: :string, repeat: :integer, device: :string, big: :boolean, peers: :boolean]

  def run(argv) do
    load = Machine.load()
    {options, []} = OptionParser.parse!(argv, strict: @switches)

    device =
      options
      |> Keyword.get(:device, "cpu")
      |> String.to_atom()
      |> ExBurn.Device.resolve()

    repeat = Keyword.get(options, :repeat, 30)
    scale = if options[:big], do: :big, else: :small
    {peers, missing} = peers(device, Keyword.get(options, :peers, true))

    rows =
      for workload <- chosen(options[:only]) do
        progress("#{workload.name}, #{workload.title}")
        :erlang.garbage_collect()
        Comparison.run(workload, Workloads.sizes(workload.name, scale), device, peers, repeat)
      end

    Enum.each(peers, fn {_name, peer} -> Peer.stop(peer) end)

    results = %{
      rows: rows,
      missing: missing,
      memory: memory(rows, device, options),
      overhead: %{compile_ms: Overhead.compile_ms(device), call_us: Overhead.call_us(device)},
      repeat: repeat,
      device: device,
      load: load,
      date: Date.utc_today(),
      versions: for({_name, peer} <- peers, do: peer.version),
      command: Enum.join(["make bench" | arguments(argv)], " ")
    }

    print(results)
    unless options[:only] || options[:peers] == false, do: write(results)
  end

  defp arguments([]), do: []
  defp arguments(argv), do: ["ARGS=\"#{Enum.join(argv, " ")}\""]

  defp chosen(nil), do: Workloads.all()

  defp chosen(only) do
    names = String.split(only, ",")
    known = for workload <- Workloads.all(), do: workload.name
    if names -- known != [], do: raise(ArgumentError, "no workload #{inspect(names -- known)}")
    Enum.filter(Workloads.all(), &(&1.name in names))
  end

  # Those that are installed, and why the others can't be asked.
  defp peers(_device, false), do: {[], %{}}

  defp peers(device, true) do
    {peers, missing} =
      for(name <- ~w(torch jax), do: {name, Peer.start(name, device)})
      |> Enum.split_with(&match?({_name, {:ok, _peer}}, &1))

    for {name, {:error, reason}} <- missing do
      IO.puts(:stderr, "\n*** NOT COMPARED WITH #{name}: #{reason} ***\n")
    end

    {for({name, {:ok, peer}} <- peers, do: {name, peer}), Map.new(missing)}
  end

  defp memory(rows, :cpu, options) do
    names = for row <- rows, row.workload.name in Memory.workloads(), do: row.workload.name

    if Memory.measurable?() and options[:peers] != false and not (options[:big] || false) do
      for name <- names do
        progress("#{name}, memory")
        Memory.compare(name)
      end
    else
      []
    end
  end

  defp memory(_rows, _device, _options), do: []

  defp progress(text), do: IO.puts(:stderr, "  #{text}")

  defp print(results) do
    IO.puts(["\n", Report.speed(results.rows, results.missing)])
    IO.puts(["Compilation, ms\n\n", Report.compilation(results.rows)])
    IO.puts(Report.overhead(results.overhead))
    if results.memory != [], do: IO.puts(["Memory, MiB\n\n", Report.memory(results.memory)])
  end

  defp write(results) do
    File.mkdir_p!(path("results"))
    File.write!(path("results/#{results.device}.json"), Report.speed_json(results.rows))

    if results.memory != [] do
      File.write!(path("results/memory.json"), Report.memory_json(results.memory))
    end

    File.write!(path(page(results.device)), Report.page(results))
  end

  defp page(:cpu), do: "RESULTS.md"
  defp page(device), do: "RESULTS_#{device |> to_string() |> String.upcase()}.md"

  defp path(file), do: Path.join(__DIR__, file)
end

ExBurn.Bench.Main.run(System.argv())
