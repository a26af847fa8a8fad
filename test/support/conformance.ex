defmodule ExBurn.Conformance do
  @moduledoc """
  Generated cases of every operation of Nx and every type, each with its right result.

  `mix test --only conformance` runs them. `EXBURN_CONFORMANCE_RUNS` is the number of cases of each
  operation and type (default: 16).
  """

  import ExUnit.Assertions
  use ExUnitProperties

  alias ExBurn.Conformance.{Case, Coverage, Generate, Operand}

  @families [
    ExBurn.Conformance.Unary,
    ExBurn.Conformance.Mathematical,
    ExBurn.Conformance.Binary,
    ExBurn.Conformance.Predicates,
    ExBurn.Conformance.Bitwise,
    ExBurn.Conformance.Conversion,
    ExBurn.Conformance.Creation,
    ExBurn.Conformance.Data,
    ExBurn.Conformance.Layout,
    ExBurn.Conformance.Choice,
    ExBurn.Conformance.Reduction,
    ExBurn.Conformance.Cumulative,
    ExBurn.Conformance.Order,
    ExBurn.Conformance.Window,
    ExBurn.Conformance.Indexed,
    ExBurn.Conformance.Product,
    ExBurn.Conformance.Fourier,
    ExBurn.Conformance.LinearAlgebra,
    ExBurn.Conformance.Fold,
    ExBurn.Conformance.Random,
    ExBurn.Conformance.Closeness
  ]

  def families, do: @families

  @doc "All operations of all families."
  def operations, do: Enum.flat_map(@families, & &1.operations())

  def types, do: Generate.types()

  @doc "How many cases of each operation and type are generated."
  def runs, do: String.to_integer(System.get_env("EXBURN_CONFORMANCE_RUNS", "16"))

  @doc "Runs the cases of one operation."
  def run(family, name) do
    operation = Enum.find(family.operations(), &(&1.name == name))
    for type <- operation.types, do: accepts(operation, type)
    for type <- operation.refused, do: refuses(operation, type)
  end

  defp accepts(operation, type) do
    check all test <- operation.cases.(type), max_runs: runs(), initial_size: 8 do
      Case.check(test)
      Coverage.count(operation.name, type)
    end
  end

  defp refuses(operation, type) do
    check all test <- operation.cases.(type), max_runs: 1 do
      Nx.with_default_backend(ExBurn.Backend, fn ->
        call = fn -> Case.call(test, &Operand.given/1) end
        assert %module{} = catch_error(call.())
        assert module in [ArgumentError, ExBurn.Error]
      end)
    end
  end
end
