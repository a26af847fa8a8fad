defmodule ExBurn.Conformance.Coverage do
  @moduledoc "Counts the cases that passed, by operation and type, and makes a table of them."

  alias ExBurn.Conformance

  @doc "Begins to count; the process that calls this must outlive the tests."
  def start do
    :ets.new(__MODULE__, [:named_table, :public, write_concurrency: true])
    :ok
  end

  @doc "Counts a case."
  def count(name, type), do: :ets.update_counter(__MODULE__, {name, type}, 1, {nil, 0})

  @doc "How many cases passed."
  def total, do: __MODULE__ |> :ets.tab2list() |> Enum.sum_by(&elem(&1, 1))

  @doc "How many cases of an operation and type passed."
  def cases(name, type) do
    case :ets.lookup(__MODULE__, {name, type}) do
      [{_, count}] -> count
      [] -> 0
    end
  end

  @doc "The table in Markdown."
  def table do
    types = Conformance.types()
    header = ["", "tolerance" | Enum.map(types, &Nx.Type.to_string/1)]
    rule = ["---", "---" | Enum.map(types, fn _ -> "--:" end)]
    operations = Enum.sort_by(Conformance.operations(), &{block?(&1.name), inspect(&1.name)})
    rows = for operation <- operations, do: row(operation, types)

    """
    # Cases by operation and type

    Written by `make conformance`: how many generated cases of each callback of `Nx.Backend`, each
    struct of `Nx.Block` and each function of `Nx.Random` passed, #{total()} in all. A dash stands for
    a type that Nx refuses, where the test is that it is refused, or that the function doesn't make.
    The tolerance is in units in the last place (ulps) of the result's type; integers are always
    exact.

    #{Enum.map_join([header, rule | rows], "\n", &"| #{Enum.join(&1, " | ")} |")}

    These callbacks have no values to compare:

    #{Enum.map_join(without_values(), "\n", fn {name, reason} -> "- `#{name}`: #{reason}" end)}
    """
  end

  @doc "The callbacks that have no cases, and why."
  def without_values do
    [
      init: "checks the options of the backend",
      block: "hands over the structs of `Nx.Block`, each of which has a row",
      from_pointer: "is refused, since the engine owns the memory of its tensors",
      to_pointer: "is refused, since the engine owns the memory of its tensors"
    ]
  end

  defp row(operation, types) do
    counts =
      for type <- types do
        if type in operation.types, do: cases(operation.name, type), else: "–"
      end

    ["`#{title(operation.name)}`", operation.tolerance | counts]
  end

  defp block?(name), do: String.starts_with?("#{name}", "Elixir.Nx.Block.")

  @doc "The name of an operation as it is shown."
  def title(name), do: if(block?(name), do: inspect(name), else: "#{name}")
end
