defmodule ExBurn.Nx.CoverageTest do
  @moduledoc "What the conformance suite leaves out: nothing but what has no values."

  use ExUnit.Case, async: true

  alias ExBurn.Conformance

  @table Path.join(__DIR__, "COVERAGE.md")

  test "every callback has cases" do
    without = Keyword.keys(Conformance.Coverage.without_values())
    callbacks = for {name, _arity} <- Nx.Backend.behaviour_info(:callbacks), do: name
    assert Enum.uniq(callbacks) -- (names() ++ without) == []
    assert without -- callbacks == []
  end

  test "every struct of Nx.Block has cases" do
    {:ok, modules} = :application.get_key(:nx, :modules)
    assert Enum.filter(modules, &block?/1) -- names() == []
  end

  test "every type is computed or refused, but where a function makes only some" do
    for operation <- Conformance.operations(), not random?(operation.name) do
      missing = Conformance.types() -- (operation.types ++ operation.refused)
      assert operation.name == :atan2 or missing == [], inspect(operation.name)
    end
  end

  test "there are 20,000 cases" do
    pairs = Enum.sum_by(Conformance.operations(), &length(&1.types))
    assert pairs * Conformance.runs() >= 20_000
  end

  test "the table has a row for every operation" do
    rows = for "| `" <> row <- File.stream!(@table), do: row |> String.split("`") |> hd()
    titles = Enum.map(names(), &Conformance.Coverage.title/1)
    assert Enum.sort(rows) == Enum.sort(titles)
  end

  defp names, do: Enum.map(Conformance.operations(), & &1.name)
  defp block?(module), do: String.starts_with?("#{module}", "Elixir.Nx.Block.")
  defp random?(name), do: String.starts_with?("#{name}", "random_")
end
