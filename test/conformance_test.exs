alias ExBurn.Conformance

for family <- Conformance.families() do
  name = family |> Module.split() |> List.last()

  defmodule Module.concat(ExBurn.ConformanceTest, name) do
    use ExUnit.Case, async: true

    @moduletag :conformance
    @moduletag timeout: 600_000
    @family family

    for operation <- family.operations() do
      @operation operation.name
      test "#{Conformance.Coverage.title(operation.name)}" do
        Conformance.run(@family, @operation)
      end
    end
  end
end
