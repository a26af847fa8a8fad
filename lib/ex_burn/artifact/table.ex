defmodule ExBurn.Artifact.Table do
  @moduledoc false
  # `native/targets.toml`, the table of all that the library is built for.
  #
  # It takes the little of TOML that the table uses: sections, and values that JSON writes alike.

  alias ExBurn.Error

  @enforce_keys [:nif_versions, :features, :targets]
  defstruct @enforce_keys

  @type variant :: String.t()

  @type target :: %{
          triple: String.t(),
          kind: :cdylib | :staticlib,
          variants: [variant(), ...]
        }

  @type t :: %__MODULE__{
          nif_versions: [String.t(), ...],
          features: %{variant() => [String.t()]},
          targets: [target(), ...]
        }

  @doc """
  Reads a table.

      iex> table = ExBurn.Artifact.Table.parse(~s'''
      ...> nif_versions = ["2.15"]
      ...>
      ...> [variants]
      ...> cpu = []
      ...>
      ...> [[target]]
      ...> triple = "x86_64-unknown-linux-musl" # Alpine
      ...> variants = ["cpu"]
      ...> kind = "cdylib"
      ...> ''')
      iex> table.targets
      [%{triple: "x86_64-unknown-linux-musl", kind: :cdylib, variants: ["cpu"]}]
  """
  @spec parse(String.t()) :: t()
  def parse(text) do
    sections =
      text
      |> String.split(["\n", "\r\n"])
      |> Enum.reduce([{"", %{}}], &parse_line/2)
      |> Enum.reverse()

    %{"nif_versions" => nif_versions} = section(sections, "")

    %__MODULE__{
      nif_versions: nif_versions,
      features: section(sections, "[variants]"),
      targets: for({"[[target]]", values} <- sections, do: target(values))
    }
  end

  defp section(sections, name) do
    Enum.find_value(sections, fn {known, values} -> known == name && values end) ||
      raise Error, op: :targets, reason: "the table has no section #{name}"
  end

  defp target(%{"triple" => triple, "kind" => kind, "variants" => [_ | _] = variants})
       when kind in ["cdylib", "staticlib"] do
    %{triple: triple, kind: String.to_atom(kind), variants: variants}
  end

  defp parse_line(line, [{name, values} | rest] = sections) do
    line = line |> String.split(" #") |> hd() |> String.trim()

    cond do
      line == "" or String.starts_with?(line, "#") -> sections
      String.starts_with?(line, "[") -> [{line, %{}} | sections]
      true -> [{name, put_value(values, line)} | rest]
    end
  end

  defp put_value(values, line) do
    [key, value] = String.split(line, "=", parts: 2)
    Map.put(values, String.trim(key), JSON.decode!(value))
  end

  @doc "The target of that triple, or `nil`."
  @spec target(t(), String.t()) :: target() | nil
  def target(%__MODULE__{targets: targets}, triple) do
    Enum.find(targets, &(&1.triple == triple))
  end

  @doc "The triples of that kind, in the table's order."
  @spec triples(t(), :cdylib | :staticlib) :: [String.t()]
  def triples(%__MODULE__{targets: targets}, kind) do
    for target <- targets, target.kind == kind, do: target.triple
  end
end
