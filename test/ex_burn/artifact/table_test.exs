defmodule ExBurn.Artifact.TableTest do
  use ExUnit.Case, async: true
  doctest ExBurn.Artifact.Table

  alias ExBurn.Artifact.Table

  test "a table that lacks something is refused" do
    assert_raise ExBurn.Error, ~r/no section \[variants\]/, fn ->
      Table.parse(~s(nif_versions = ["2.15"]\n))
    end

    assert_raise FunctionClauseError, fn ->
      Table.parse(~s(nif_versions = ["2.15"]\n[variants]\n[[target]]\ntriple = "a"\n))
    end
  end
end
