defmodule ExBurn.Bench.Overhead do
  @moduledoc false
  # What the compiler itself costs, whatever is computed.

  alias ExBurn.Bench.{Subject, Workloads}

  @nodes 5000
  @repeat 30

  def nodes, do: @nodes

  @doc "The milliseconds that a graph of 5,000 nodes takes to be traced, lowered and compiled."
  def compile_ms(device) do
    x = Nx.tensor([0.25, 0.5], backend: {ExBurn.Backend, device: device})
    start = System.monotonic_time(:nanosecond)
    Nx.Defn.compile(&alternate/2, [x, x], compiler: ExBurn.Defn.Compiler, device: device)
    (System.monotonic_time(:nanosecond) - start) / 1.0e6
  end

  defp alternate(x, y) do
    Enum.reduce(1..div(@nodes, 2), x, fn _, x -> x |> Nx.multiply(y) |> Nx.add(y) end)
  end

  @doc "The microseconds of one repeated call of a function that does next to nothing."
  def call_us(device) do
    workload = Enum.find(Workloads.all(), &(&1.name == "W1"))
    {subject, _milliseconds} = Subject.compile(workload, Workloads.sizes("W1", :small), device)
    {times, _subject} = subject |> Subject.warm_up() |> Subject.time(@repeat)
    Enum.at(Enum.sort(times), div(@repeat, 2)) * 1000
  end
end
