# Nx's own test files, on `ExBurn.Backend`:
#
#     MIX_ENV=test mix run --no-start test/nx/suites.exs
#
# They come with the sources of Nx, not with its Hex package. What fails must be in
# `suites_exceptions.exs` with the reason, and what is there must fail. The counts are written to
# `SUITES.md`.

defmodule ExBurn.Suites do
  @moduledoc "Runs test files of Nx and compares what fails with what is known to."

  @files ~w(nx_test.exs nx/lin_alg_test.exs nx/random_test.exs nx/defn/grad_test.exs
    nx/vectorize_test.exs nx/non_finite_test.exs nx/complex_test.exs nx/tensor_test.exs
    nx/defn_test.exs)

  def run do
    nx = Mix.Project.deps_paths()[:nx]
    tests = Path.join(nx, "test")
    unless File.dir?(tests), do: exit("NOT RUN: this Nx came without its tests")
    report = Path.expand("SUITES.md", __DIR__)

    {exceptions, _bindings} = Code.eval_file("suites_exceptions.exs", __DIR__)
    Application.put_env(:ex_burn, :add_backend_on_inspect, false)
    ExUnit.start(autorun: false, formatters: [ExBurn.Suites.Formatter], seed: 0)
    {:ok, _} = Application.ensure_all_started(:ex_burn)
    open_protocols()

    # Some of them read files relative to it.
    File.cd!(nx)

    for file <- ~w(container.ex helpers.ex nx_case.ex backends.ex) do
      compile(Path.join([tests, "support", file]))
    end

    results =
      for file <- @files do
        known = for {_reason, ^file, names} <- exceptions, name <- names, do: "test " <> name
        {file, run(Path.join(tests, file), known)}
      end

    File.write!(report, report(results, exceptions))

    for {file, %{unknown: unknown, mended: mended}} <- results do
      for {name, failure} <- unknown, do: IO.puts("#{file}: #{name}\n#{failure}\n")
      for name <- mended, do: IO.puts("#{file}: #{name} passes, but is an exception")
    end

    if Enum.any?(results, fn {_, result} -> result.unknown != [] or result.mended != [] end) do
      exit({:shutdown, 1})
    end
  end

  # The tests have containers of their own.
  defp open_protocols do
    Code.delete_path(Mix.Project.consolidation_path())

    for protocol <- [Nx.Container, Nx.LazyContainer] do
      :code.purge(protocol)
      :code.delete(protocol)
    end
  end

  defp run(file, known) do
    :persistent_term.put(ExBurn.Suites.Formatter, self())
    compile(file)
    Nx.global_default_backend(ExBurn.Backend)
    ExUnit.Server.modules_loaded(false)
    ExUnit.run()
    results = collect(%{})
    failed = for {name, {:failed, failure}} <- results, do: {name, failure}
    names = Enum.map(failed, &elem(&1, 0))

    %{
      passed: Enum.count(results, &match?({_, :passed}, &1)),
      failed: length(failed),
      unknown: Enum.reject(failed, fn {name, _} -> name in known end),
      mended: known -- names
    }
  end

  defp collect(results) do
    receive do
      {:test, name, result} -> collect(Map.put(results, name, result))
    after
      0 -> results
    end
  end

  # Tensors that are attributes of a module become part of its code.
  defp compile(file) do
    Nx.global_default_backend(Nx.BinaryBackend)

    file
    |> File.read!()
    |> Code.string_to_quoted!(file: file)
    |> prepare()
    |> Code.compile_quoted(file)
  end

  # Tensors of a backend outside the VM are equal where their elements are, not their references.
  # The examples of the documentation have a test of their own.
  defp prepare(quoted) do
    Macro.prewalk(quoted, fn
      {check, meta, [{:==, _, [left, right]} | rest]} when check in [:assert, :unless] ->
        {check, meta, [quote(do: ExBurn.Suites.same?(unquote(left), unquote(right))) | rest]}

      {:doctest, _, _} ->
        :ok

      node ->
        node
    end)
  end

  def same?(left, right), do: on_binary_backend(left) == on_binary_backend(right)

  defp on_binary_backend(%Nx.Tensor{data: %ExBurn.Backend{}} = tensor) do
    Nx.backend_copy(tensor, Nx.BinaryBackend)
  end

  defp on_binary_backend(list) when is_list(list), do: Enum.map(list, &on_binary_backend/1)

  defp on_binary_backend(tuple) when is_tuple(tuple) do
    tuple |> Tuple.to_list() |> on_binary_backend() |> List.to_tuple()
  end

  defp on_binary_backend(map) when is_map(map) do
    Map.new(Map.to_list(map), fn {key, value} -> {key, on_binary_backend(value)} end)
  end

  defp on_binary_backend(other), do: other

  defp report(results, exceptions) do
    rows =
      for {file, %{passed: passed, failed: failed}} <- results do
        "| `#{file}` | #{passed} | #{failed} |\n"
      end

    reasons =
      for {reason, file, names} <- exceptions do
        "* `#{file}`: #{reason}.\n" <> for(name <- names, into: "", do: "  * #{name}\n")
      end

    version = Application.spec(:nx, :vsn)

    """
    # Nx's own tests on `ExBurn.Backend`

    Of Nx #{version}; written by `test/nx/suites.exs`.

    | File | Passed | Failed |
    | --- | ---: | ---: |
    #{rows}
    ## What fails, and why

    #{reasons}\
    """
  end
end

defmodule ExBurn.Suites.Formatter do
  @moduledoc "Sends the result of every test to the process that runs them."

  use GenServer

  def init(_options), do: {:ok, :persistent_term.get(__MODULE__)}

  def handle_cast({:test_finished, test}, parent) do
    case test.state do
      nil ->
        send(parent, {:test, to_string(test.name), :passed})

      {:failed, failures} ->
        send(parent, {:test, to_string(test.name), {:failed, show(test, failures)}})

      _skipped ->
        :ok
    end

    {:noreply, parent}
  end

  def handle_cast(_event, parent), do: {:noreply, parent}

  defp show(test, failures) do
    ExUnit.Formatter.format_test_failure(test, failures, 1, 98, fn _key, text -> text end)
  end
end

ExBurn.Suites.run()
