defmodule ExBurn.Conformance.Operand do
  @moduledoc """
  An operand of a case: its elements, and how they lie in memory.

  `:vectorized` is the size of one more axis, which is vectorised, in front of those of the shape.

  The reference has it in a type that `Nx.BinaryBackend` computes in without a rounding of its own:
  integers of less than a byte as bytes, floats as `f64`, complex numbers as `c128`.
  """

  alias ExBurn.Conformance.Number

  @enforce_keys [:type, :shape, :elements]
  defstruct [:type, :shape, :elements, names: nil, layout: :contiguous, vectorized: nil]

  @doc """
  How the elements may lie: in their order, as a transposed view, or as every second one of a view.
  """
  def layouts, do: [:contiguous, :transposed, :strided]

  @doc "The type that the reference has a type's elements in."
  def wide({kind, size}) when kind in [:s, :u], do: {kind, max(size, 8)}
  def wide({:c, _}), do: {:c, 128}
  def wide(_float), do: {:f, 64}

  @doc "The operand as a tensor of `ExBurn.Backend`."
  def given(%__MODULE__{} = operand), do: tensor(operand, &lay_out/1)

  @doc "The operand on a backend, in its own type."
  def on(%__MODULE__{} = operand, backend) do
    tensor(operand, &in_order(&1.elements, &1.type, &1.shape, backend))
  end

  @doc "The operand as the reference has it."
  def reference(%__MODULE__{} = operand) do
    on(%{operand | type: wide(operand.type)}, Nx.BinaryBackend)
  end

  defp tensor(%{vectorized: nil} = operand, lay_out), do: operand |> lay_out.() |> named(operand)

  defp tensor(%{vectorized: size} = operand, lay_out) do
    %{operand | shape: Tuple.insert_at(operand.shape, 0, size)}
    |> lay_out.()
    |> Nx.vectorize(:vectorized)
    |> named(operand)
  end

  defp named(tensor, %{names: nil}), do: tensor
  defp named(tensor, %{names: names}), do: Nx.rename(tensor, names)

  defp lay_out(%{layout: layout, shape: shape} = operand)
       when layout == :contiguous or shape == {} do
    in_order(operand.elements, operand.type, shape, ExBurn.Backend)
  end

  defp lay_out(%{layout: :transposed} = operand) do
    order =
      operand.shape |> Nx.iota(backend: Nx.BinaryBackend) |> Nx.transpose() |> Nx.to_flat_list()

    elements = List.to_tuple(operand.elements)
    shape = operand.shape |> Tuple.to_list() |> Enum.reverse() |> List.to_tuple()

    order
    |> Enum.map(&elem(elements, &1))
    |> in_order(operand.type, shape, ExBurn.Backend)
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
    |> in_order(operand.type, shape, ExBurn.Backend)
    |> Nx.slice(List.duplicate(0, axis + 1), lengths, strides: strides)
  end

  defp in_order(elements, type, shape, backend) do
    elements
    |> Number.encode(type)
    |> Nx.from_binary(type, backend: backend)
    |> Nx.reshape(shape)
  end

  defimpl Inspect do
    import Inspect.Algebra

    def inspect(operand, options) do
      sizes = for size <- Tuple.to_list(operand.shape), do: "[#{size}]"
      type = Nx.Type.to_string(operand.type)
      vectorized = if operand.vectorized, do: "[vectorized: #{operand.vectorized}]", else: ""
      names = if operand.names, do: " #{Kernel.inspect(operand.names)}", else: ""

      concat([
        "#Operand<#{type}#{vectorized}#{sizes}#{names} #{operand.layout} ",
        to_doc(operand.elements, %{options | limit: :infinity, charlists: :as_lists}),
        ">"
      ])
    end
  end
end
