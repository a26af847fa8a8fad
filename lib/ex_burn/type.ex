defmodule ExBurn.Type do
  @moduledoc false
  # The types of Nx under the engine's names.

  @types [{{:f8_e4m3fn, 8}, :f8_e4m3fn}] ++
           for(
             {kind, sizes} <-
               [s: [2, 4, 8, 16, 32, 64], u: [2, 4, 8, 16, 32, 64]] ++
                 [f: [8, 16, 32, 64], bf: [16], c: [64, 128]],
             size <- sizes,
             do: {{kind, size}, :"#{kind}#{size}"}
           )

  @doc "The names of all types that the engine has."
  def names, do: unquote(for {_type, name} <- @types, do: name)

  @doc "Whether the engine has a type of Nx."
  def supported?(type), do: type in unquote(for {type, _name} <- @types, do: type)

  @doc "The engine's name of a type of Nx."
  def to_engine(type)

  for {type, name} <- @types do
    def to_engine(unquote(type)), do: unquote(name)
  end

  def to_engine(type) do
    raise ExBurn.Error,
      op: :type,
      reason:
        "given #{describe(type)}, expected one of #{Enum.map_join(names(), ", ", &to_string/1)}",
      details: %{type: type}
  end

  @doc "The type of Nx that the engine calls `name`."
  def to_nx(name)

  for {type, name} <- @types do
    def to_nx(unquote(name)), do: unquote(type)
  end

  defp describe({kind, size}), do: "#{kind}#{size}"
  defp describe(other), do: inspect(other)
end
