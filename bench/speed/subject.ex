defmodule ExBurn.Bench.Subject do
  @moduledoc false
  # A workload compiled by `ExBurn.Defn.Compiler`, with its arguments on the device.

  alias ExBurn.Bench.Workloads

  @warm_up 5

  @enforce_keys [:run, :arguments, :workload, :device]
  defstruct [:run, :arguments, :workload, :device]

  @doc "The workload, ready to be called, and the milliseconds that compiling it took."
  def compile(workload, sizes, device) do
    {function, arguments} =
      Nx.with_default_backend({ExBurn.Backend, device: device}, fn ->
        Workloads.build(workload.name, sizes)
      end)

    {run, milliseconds} =
      timed(fn ->
        Nx.Defn.compile(function, arguments, compiler: ExBurn.Defn.Compiler, device: device)
      end)

    {%__MODULE__{run: run, arguments: arguments, workload: workload, device: device},
     milliseconds}
  end

  def warm_up(subject), do: call(subject, @warm_up)

  @doc "The milliseconds of one call, `repeat` times, and the subject as the calls left it."
  def time(subject, repeat) do
    inner = subject.workload.inner
    subject = call(subject, inner)

    Enum.map_reduce(1..repeat, subject, fn _, subject ->
      {subject, milliseconds} = timed(fn -> call(subject, inner) end)
      {milliseconds / inner, subject}
    end)
  end

  @doc "Calls it `count` times, and waits for the last result."
  def call(%{workload: %{training?: true}} = subject, count) do
    [state | data] = subject.arguments
    {loss, state} = train(subject.run, state, data, count)
    wait(loss, subject.device)
    %{subject | arguments: [state | data]}
  end

  def call(subject, count) do
    subject.run |> repeat(subject.arguments, count) |> wait(subject.device)
    subject
  end

  defp train(run, state, data, 1), do: apply(run, [state | data])

  defp train(run, state, data, count) do
    {_loss, state} = apply(run, [state | data])
    train(run, state, data, count - 1)
  end

  defp repeat(run, arguments, 1), do: apply(run, arguments)

  defp repeat(run, arguments, count) do
    apply(run, arguments)
    repeat(run, arguments, count - 1)
  end

  # The CPU has computed a result when the call returns. A GPU still works on it.
  defp wait(_result, :cpu), do: :ok
  defp wait(result, _device), do: Nx.to_binary(result, limit: 1)

  defp timed(fun) do
    start = System.monotonic_time(:nanosecond)
    result = fun.()
    {result, (System.monotonic_time(:nanosecond) - start) / 1.0e6}
  end
end
