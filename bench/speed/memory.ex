defmodule ExBurn.Bench.Memory do
  @moduledoc false
  # The resident memory that training steps need on top of what was there before the first one,
  # here and in JAX. Each is measured in a process of the operating system of its own.

  alias ExBurn.Bench.{Peer, Subject, Workloads}

  @workloads ~w(W6 W8)
  @steps 20
  @script Path.expand("memory.exs", __DIR__)

  # The allocator of glibc keeps what is freed for later, unless a mapping of its own held it.
  @environment [{"MALLOC_MMAP_THRESHOLD_", "65536"}]

  def workloads, do: @workloads
  def steps, do: @steps

  def measurable?, do: File.exists?("/proc/self/clear_refs")

  @doc "The bytes here and in JAX, `nil` where that isn't installed."
  def compare(name) do
    %{workload: name, ours: ours(name), jax: jax(name)}
  end

  defp ours(name) do
    arguments = ["run", "--no-compile", @script, name]
    {output, 0} = System.cmd("mix", arguments, env: @environment)
    output |> String.split() |> List.last() |> String.to_integer()
  end

  defp jax(name) do
    with {:ok, peer} <- Peer.start("jax", :cpu, @environment) do
      request = %{workload: name, sizes: Workloads.sizes(name, :small), memory_of_steps: @steps}
      %{"bytes" => bytes} = Peer.ask(peer, request)
      Peer.stop(peer)
      bytes
    else
      {:error, _reason} -> nil
    end
  end

  @doc "The bytes that the steps need in this process."
  def growth(name) do
    workload = Enum.find(Workloads.all(), &(&1.name == name))
    {subject, _milliseconds} = Subject.compile(workload, Workloads.sizes(name, :small), :cpu)

    # What made the arguments is gone, and the peak starts over.
    :erlang.garbage_collect()
    File.write!("/proc/self/clear_refs", "5")

    before = status("VmRSS")
    Subject.call(subject, @steps)
    status("VmHWM") - before
  end

  defp status(field) do
    [_, kilobytes] = Regex.run(~r/^#{field}:\s*(\d+) kB$/m, File.read!("/proc/self/status"))
    String.to_integer(kilobytes) * 1024
  end
end
