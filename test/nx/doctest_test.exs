defmodule ExBurn.Nx.DoctestTest do
  @moduledoc "The examples of Nx itself, on `ExBurn.Backend`."

  use ExUnit.Case, async: true

  {exceptions, _bindings} = Code.eval_file("exceptions.exs", __DIR__)
  exceptions = Enum.group_by(exceptions, &elem(&1, 0), &elem(&1, 1))

  # Those whose examples compute something.
  @modules [Nx, Nx.LinAlg, Nx.Random, Nx.Constants, Nx.Batch, Nx.Defn, Nx.Heatmap, Nx.Serving]

  for module <- @modules do
    doctest module, except: [:moduledoc | Map.get(exceptions, module, [])]
  end

  describe "Nx.Defn.Kernel" do
    use Nx.Defn.Kernel
    doctest Nx.Defn.Kernel
  end

  test "exceptions are of these modules" do
    assert Map.keys(unquote(Macro.escape(exceptions))) -- @modules == []
  end
end
