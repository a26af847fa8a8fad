defmodule ExBurn.NoBinaryBackendTest do
  @moduledoc "What the engine lacks is written in the engine: nothing falls back to Nx's own backend."

  use ExUnit.Case, async: true

  @sources Path.wildcard("lib/**/*.ex")

  test "the library never calls Nx.BinaryBackend" do
    assert "lib/ex_burn/backend.ex" in @sources

    for source <- @sources do
      assert calls(File.read!(source)) == [], "#{source} calls Nx.BinaryBackend"
    end
  end

  test "every way to call it is found, and text that names it is not a call" do
    for code <- [
          "Nx.BinaryBackend.add(out, left, right)",
          "Nx.backend_copy(tensor, Nx.BinaryBackend)",
          "Nx.with_default_backend({Nx.BinaryBackend, []}, fun)",
          "alias Nx.BinaryBackend",
          "alias Nx.{BinaryBackend, Tensor}",
          "alias Nx.BinaryBackend, as: B",
          "apply(:\"Elixir.Nx.BinaryBackend\", :add, [])"
        ] do
      assert calls(code) != [], code
    end

    assert calls("@doc \"Unlike `Nx.BinaryBackend`.\"\n# As Nx.BinaryBackend does.") == []
  end

  # The names of the backend in the code itself: neither comments nor text.
  defp calls(code) do
    {_ast, names} =
      code
      |> Code.string_to_quoted!()
      |> Macro.prewalk([], fn
        {:__aliases__, _meta, parts} = node, found -> {node, names(parts) ++ found}
        Nx.BinaryBackend = node, found -> {node, [node | found]}
        node, found -> {node, found}
      end)

    names
  end

  defp names(parts), do: Enum.filter(parts, &(&1 == :BinaryBackend))
end
