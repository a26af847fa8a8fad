defmodule ExBurn.Bench.Report do
  @moduledoc false
  # The tables of a run, for the terminal and for the files of results.

  alias ExBurn.Bench.{Machine, Memory, Overhead}

  @compile_limit_ms 1000
  @call_limit_us 10

  def speed(rows, missing) do
    header = ["", "Workload", "ExBurn", "PyTorch", "JAX", "Ratio", "Limit", "Within"]

    table(
      header,
      for row <- rows do
        [
          row.workload.name,
          row.workload.title,
          milliseconds(row.ours),
          peer(row.peers["torch"], missing["torch"]),
          peer(row.peers["jax"], missing["jax"]),
          row.ratio && decimals(row.ratio, 2),
          decimals(row.workload.limit, 2),
          within(row.ratio, row.workload.limit)
        ]
      end
    )
  end

  defp peer(nil, _missing = nil), do: nil
  defp peer(nil, _missing), do: "NOT INSTALLED"
  defp peer(median, _missing), do: milliseconds(median)

  defp within(nil, _limit), do: "NOT COMPARED"
  defp within(value, limit), do: if(value <= limit, do: "yes", else: "no")

  def compilation(rows) do
    table(
      ["", "ExBurn", "JAX"],
      for row <- rows do
        [
          row.workload.name,
          milliseconds(row.compile),
          row.first["jax"] && milliseconds(row.first["jax"])
        ]
      end
    )
  end

  def memory(rows) do
    table(
      ["", "ExBurn", "JAX"],
      for row <- rows do
        [
          row.workload,
          mebibytes(row.ours),
          if(row.jax, do: mebibytes(row.jax), else: "NOT INSTALLED")
        ]
      end
    )
  end

  def overhead(%{compile_ms: compile_ms, call_us: call_us}) do
    table(["", "Time", "Limit", "Within"], [
      [
        "compiling a graph of #{Overhead.nodes()} nodes",
        "#{decimals(compile_ms, 1)} ms",
        "#{@compile_limit_ms} ms",
        within(compile_ms, @compile_limit_ms)
      ],
      [
        "calling a compiled function, W1",
        "#{decimals(call_us, 2)} µs",
        "#{@call_limit_us} µs",
        within(call_us, @call_limit_us)
      ]
    ])
  end

  @doc "The page of all results."
  def page(results) do
    """
    # Speed and memory

    - Machine: #{Machine.processor()}
    - Load before the run: #{results.load}
    - Device: #{ExBurn.Device.title(results.device)}
    - Versions: #{Enum.join([Machine.versions() | results.versions], ", ")}
    - Date: #{Date.to_iso8601(results.date)}
    - Command: `#{results.command}`

    ## Speed

    Milliseconds of one call, the median of #{results.repeat}; the three take turns, each with all
    processors. The ratio is that of ExBurn to the faster of the others. A training step includes
    the gradients and the new parameters.

    #{speed(results.rows, results.missing)}
    ## Compilation

    Milliseconds until a workload can be called for the first time. JAX includes the first call.

    #{compilation(results.rows)}
    #{overhead(results.overhead)}\
    #{memory_section(results.memory)}\
    """
  end

  defp memory_section([]), do: ""

  defp memory_section(rows) do
    """

    ## Memory

    MiB of resident memory that #{Memory.steps()} training steps need at their peak, on top of what
    the process has before the first of them, when inputs and parameters are placed and the step is
    compiled. Each runs in a process of its own, where the allocator returns at once what is freed,
    so that memory left from before can't be used unseen.

    #{memory(rows)}\
    """
  end

  @doc "The rows as JSON, one a line."
  def speed_json(rows) do
    json(
      for row <- rows do
        [
          {"workload", row.workload.name},
          {"ours_ms", row.ours},
          {"torch_ms", row.peers["torch"]},
          {"jax_ms", row.peers["jax"]},
          {"ratio", row.ratio}
        ]
      end
    )
  end

  def memory_json(rows) do
    json(
      for row <- rows do
        [{"workload", row.workload}, {"ours_bytes", row.ours}, {"jax_bytes", row.jax}]
      end
    )
  end

  defp json(rows) do
    lines =
      for row <- rows do
        fields =
          for {key, value} <- row, do: "#{JSON.encode!(key)}: #{JSON.encode!(rounded(value))}"

        "  {#{Enum.join(fields, ", ")}}"
      end

    "[\n#{Enum.join(lines, ",\n")}\n]\n"
  end

  defp rounded(value) when is_float(value), do: Float.round(value, 5)
  defp rounded(value), do: value

  # Markdown that also reads well on a terminal.
  defp table(header, rows) do
    rows = for row <- rows, do: Enum.map(row, &(&1 || "–"))

    widths =
      for column <- Enum.zip_with([header | rows], & &1) do
        column |> Enum.map(&String.length/1) |> Enum.max() |> max(3)
      end

    rule = for width <- widths, do: String.duplicate("-", width)

    Enum.map_join([header, rule | rows], fn cells ->
      padded = Enum.zip_with(cells, widths, &String.pad_trailing/2)
      "| #{Enum.join(padded, " | ")} |\n"
    end)
  end

  # Three significant digits.
  defp milliseconds(value) when value >= 100, do: decimals(value, 0)
  defp milliseconds(value) when value >= 10, do: decimals(value, 1)
  defp milliseconds(value) when value >= 1, do: decimals(value, 2)
  defp milliseconds(value) when value >= 0.1, do: decimals(value, 3)
  defp milliseconds(value), do: decimals(value, 4)

  defp mebibytes(bytes), do: decimals(bytes / 2 ** 20, 1)

  defp decimals(value, count), do: :erlang.float_to_binary(value / 1, decimals: count)
end
