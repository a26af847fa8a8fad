defmodule ExBurn.Conformance.Family do
  @moduledoc """
  A family of callbacks of `Nx.Backend` and structs of `Nx.Block`, and the cases they are held to.

  An operation has

    * `:name` - the callback or struct
    * `:types` - the types it has
    * `:tolerance` - how near a result must be, in words
    * `:cases` - from a type to a generator of `ExBurn.Conformance.Case`

  Of a type that isn't listed, the same cases must be refused.
  """

  alias ExBurn.Conformance.Generate

  @type operation :: %{
          name: atom(),
          types: [Nx.Type.t()],
          refused: [Nx.Type.t()],
          tolerance: String.t(),
          cases: (Nx.Type.t() -> StreamData.t(ExBurn.Conformance.Case.t()))
        }

  @callback operations() :: [operation()]

  defmacro __using__(_options) do
    quote do
      @behaviour unquote(__MODULE__)

      import ExBurn.Conformance.Family
      import ExBurn.Conformance.Generate
      import ExBurn.Generators, only: [axes: 1, axis: 1, each_axis: 2]
      import ExUnitProperties, only: [gen: 2]
      import StreamData

      alias ExBurn.Conformance.{Case, Generate, Number, Operand}
    end
  end

  @doc """
  An operation.

  ## Options

    * `:types` - the types it has (default: all)
    * `:refused` - the types that Nx refuses (default: the others)
    * `:tolerance` - in words (default: `"exact"`)
  """
  def operation(name, options \\ [], cases) do
    types = Keyword.get(options, :types, Generate.types())

    %{
      name: name,
      types: types,
      refused: Keyword.get(options, :refused, Generate.types() -- types),
      tolerance: Keyword.get(options, :tolerance, "exact"),
      cases: cases
    }
  end
end
