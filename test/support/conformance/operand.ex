defmodule ExBurn.Conformance.Operand do
  @moduledoc """
  An operand of a case: its elements, and how they lie in memory.

  The reference has it in a type that `Nx.BinaryBackend` computes in without a rounding of its own:
  integers of less than a byte as bytes, floats as `f64`, complex numbers as `c128`.
  """

  alias ExBurn.Conformance.Number

  @enforce_keys [:type, :shape, :elements]
  defstruct [:type, :shape, :elements, names: nil, layout: :contiguous]

  @doc """
  How the elements may lie: in their order, as a transposed view, or as every second one of a view.
  """
  def layouts, do: [:contiguous, :transposed, :strided]

  @doc "The type that the reference has a type's elements in."
  def wide({kind, size}) when kind in [:s, :u], do: {kind, max(size, 8)}
  def wide({:c, _}), do: {:c, 128}
  def wide(_float), do: {:f, 64}

  @doc "The operand as a tensor of `ExBurn.Backend`."
  def given(%__MODULE__{} = operand) do
    operand |> lay_out() |> named(operand.names)
  end

  defp lay_out(%{shape: {}} = operand), do: tensor(operand.elements, operand.type, {})

  defp lay_out(%{layout: :contiguous} = operand) do
    tensor(operand.elements, operand.type, operand.shape)
  end

  defp lay_out(%{layout: :transposed} = operand) do
    order =
      operand.shape |> Nx.iota(backend: Nx.BinaryBackend) |> Nx.transpose() |> Nx.to_flat_list()

    elements = List.to_tuple(operand.elements)
    shape = operand.shape |> Tuple.to_list() |> Enum.reverse() |> List.to_tuple()

    order
    |> Enum.map(&elem(elements, &1))
    |> tensor(operand.type, shape)
    |> Nx.transpose()
  end

  defp lay_out(%{layout: :strided} = operand) do
    axis = tuple_size(operand.shape) - 1
    shape = put_elem(operand.shape, axis, 2 * elem(operand.shape, axis))
    lengths = shape |> put_elem(axis, elem(shape, axis) - 1) |> Tuple.to_list()
    strides = List.replace_at(List.duplicate(1, axis + 1), axis, 2)

    operand.elements
    |> Enum.zip(Enum.reverse(operand.elements))
    |> Enum.flat_map(&Tuple.to_list/1)
    |> tensor(operand.type, shape)
    |> Nx.slice(List.duplicate(0, axis + 1), lengths, strides: strides)
  end

  defp tensor(elements, type, shape) do
    elements
    |> Number.encode(type)
    |> Nx.from_binary(type, backend: ExBurn.Backend)
    |> Nx.reshape(shape)
  end

  @doc "The operand as the reference has it."
  def reference(%__MODULE__{} = operand) do
    type = wide(operand.type)

    operand.elements
    |> Number.encode(type)
    |> Nx.from_binary(type, backend: Nx.BinaryBackend)
    |> Nx.reshape(operand.shape)
    |> named(operand.names)
  end

  defp named(tensor, nil), do: tensor
  defp named(tensor, names), do: Nx.rename(tensor, names)

  defimpl Inspect do
    import Inspect.Algebra

    def inspect(operand, options) do
      sizes = for size <- Tuple.to_list(operand.shape), do: "[#{size}]"
      type = Nx.Type.to_string(operand.type)
      names = if operand.names, do: " #{Kernel.inspect(operand.names)}", else: ""

      concat([
        "#Operand<#{type}#{sizes}#{names} #{operand.layout} ",
        to_doc(operand.elements, %{options | limit: :infinity, charlists: :as_lists}),
        ">"
      ])
    end
  end
end
