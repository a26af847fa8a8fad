Code.require_file("../bench/speed/load.exs", __DIR__)

defmodule ExBurn.BenchWorkloadsTest do
  # A benchmark must not be fast by being wrong.
  use ExUnit.Case, async: true

  alias ExBurn.Bench.Workloads
  alias ExBurn.Defn.{Compiler, Lower}
  alias Nx.Defn.Composite

  for %{name: name, title: title} = workload <- Workloads.all() do
    @training workload.training?

    test "#{name}, #{title}: as the evaluator computes it on Nx.BinaryBackend" do
      {function, arguments} =
        Workloads.build(unquote(name), Workloads.sizes(unquote(name), :tiny))

      expression = Nx.Defn.debug_expr_apply(function, arguments)
      assert {:ok, _graph, _sources} = Lower.lower(expression)

      run = Nx.Defn.compile(function, arguments, compiler: Compiler)
      result = call(run, arguments, @training)

      expected =
        Nx.with_default_backend(Nx.BinaryBackend, fn ->
          call(Nx.Defn.jit(function, compiler: Nx.Defn.Evaluator), on_host(arguments), @training)
        end)

      assert_close(result, expected)
    end
  end

  # Two steps of a training: the second one starts from what the first one left.
  defp call(run, arguments, false), do: apply(run, arguments)

  defp call(run, [_state | data] = arguments, true) do
    {_loss, state} = apply(run, arguments)
    apply(run, [state | data])
  end

  defp on_host(arguments) do
    for argument <- arguments do
      Composite.traverse(argument, &Nx.backend_copy(&1, Nx.BinaryBackend))
    end
  end

  defp assert_close(result, expected) do
    results = Composite.flatten_list([result])
    references = Composite.flatten_list([expected])
    assert length(results) == length(references)

    for {result, reference} <- Enum.zip(results, references) do
      assert Nx.shape(result) == Nx.shape(reference)
      assert Nx.type(result) == Nx.type(reference)

      for {value, other} <- Enum.zip(Nx.to_flat_list(result), Nx.to_flat_list(reference)) do
        assert_in_delta value, other, 1.0e-5 * max(1, abs(other))
      end
    end
  end
end
