defmodule ExBurn.Bench.Comparison do
  @moduledoc false
  # Times a workload here and in the peers, in turns: what else the machine does meets all alike.

  alias ExBurn.Bench.{Peer, Subject}

  @rounds 5

  @doc "The row of a workload: medians of all rounds, in milliseconds."
  def run(workload, sizes, device, peers, repeat) do
    {subject, compile_ms} = Subject.compile(workload, sizes, device)
    subject = Subject.warm_up(subject)
    {rounds, _subject} = Enum.map_reduce(shares(repeat), subject, &round(&1, &2, sizes, peers))

    times = Enum.flat_map(rounds, fn {times, _answers} -> times end)
    answers = Enum.map(rounds, fn {_times, answers} -> answers end)
    by_peer = Map.new(peers, fn {name, _peer} -> {name, Enum.map(answers, & &1[name])} end)
    medians = Map.new(by_peer, fn {name, answers} -> {name, median_of(answers)} end)
    ours = median(times)

    %{
      workload: workload,
      ours: ours,
      peers: medians,
      ratio: ratio(ours, Map.values(medians)),
      compile: compile_ms,
      first: Map.new(by_peer, fn {name, [answer | _]} -> {name, answer["first"]} end)
    }
  end

  defp round(repeat, subject, sizes, peers) do
    {times, subject} = Subject.time(subject, repeat)
    %{name: name, inner: inner} = subject.workload
    request = %{workload: name, sizes: sizes, repeat: repeat, inner: inner}
    {{times, Map.new(peers, fn {name, peer} -> {name, Peer.ask(peer, request)} end)}, subject}
  end

  # As many repeats in each round, or one more.
  defp shares(repeat) do
    rounds = min(@rounds, repeat)

    for round <- 1..rounds do
      div(repeat, rounds) + if(round <= rem(repeat, rounds), do: 1, else: 0)
    end
  end

  defp median_of(answers), do: answers |> Enum.flat_map(& &1["times"]) |> median()

  defp median(times) do
    sorted = Enum.sort(times)
    count = length(sorted)
    (Enum.at(sorted, div(count - 1, 2)) + Enum.at(sorted, div(count, 2))) / 2
  end

  defp ratio(_ours, []), do: nil
  defp ratio(ours, peers), do: ours / Enum.min(peers)
end
