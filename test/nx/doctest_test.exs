defmodule ExBurn.Nx.DoctestTest do
  @moduledoc "The examples of Nx itself, on `ExBurn.Backend`."

  use ExUnit.Case, async: true

  {exceptions, _bindings} = Code.eval_file("exceptions.exs", __DIR__)

  for {module, functions} <- Enum.group_by(exceptions, &elem(&1, 0), &elem(&1, 1)) do
    @exceptions functions
    doctest module, except: [:moduledoc | @exceptions]
  end
end
