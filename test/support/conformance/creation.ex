defmodule ExBurn.Conformance.Creation do
  @moduledoc "Tensors of no operand."

  use ExBurn.Conformance.Family

  @impl true
  def operations do
    [
      operation(:constant, &constants/1),
      operation(:iota, &iota/1),
      operation(:eye, &eye/1),
      operation(:from_binary, &from_binary/1)
    ]
  end

  defp constants(type) do
    gen all shape <- shape(), element <- one_of([element(type), number(type)]) do
      expected = List.duplicate(element, Tuple.product(shape))
      %Case{call: {__MODULE__, :constant, [element, type, shape]}, expected: fn -> expected end}
    end
  end

  # What the type has to round.
  defp number({kind, _} = type) when kind in [:s, :u], do: element(type)
  defp number({:c, _}), do: element({:c, 128})
  defp number(_float), do: one_of([element({:f, 64}), element({:s, 64}), element({:u, 64})])

  @doc "A tensor of one number on the default backend."
  def constant(element, type, shape) do
    {backend, options} = Nx.default_backend()
    backend.constant(Nx.template(shape, type), as_nx(element), options)
  end

  defp as_nx({re, im}), do: Complex.new(re, im)
  defp as_nx(real), do: real

  defp iota(type) do
    gen all shape <- shape(), axis <- axis_or_all(shape), names <- names(shape) do
      options = [type: type, axis: axis, names: names]
      places = Nx.iota(shape, axis: axis, names: names, type: :s64, backend: Nx.BinaryBackend)

      %Case{
        call: {Nx, :iota, [shape, options]},
        expected: fn ->
          %Operand{type: type, shape: shape, elements: Nx.to_flat_list(places), names: names}
          |> Operand.reference()
        end
      }
    end
  end

  # Of the whole tensor, or along one axis.
  defp axis_or_all({}), do: StreamData.constant(nil)
  defp axis_or_all(shape), do: one_of([StreamData.constant(nil), member_of(Nx.axes(shape))])

  defp names(shape) do
    names = Enum.take([:a, :b, :c], tuple_size(shape))
    member_of([names, List.duplicate(nil, length(names))])
  end

  defp eye(type) do
    gen all shape <- small_shape(2..4) do
      %Case{
        call: {Nx, :eye, [shape, [type: type]]},
        expected: fn -> shape |> Nx.eye(type: :u8) |> Nx.to_flat_list() end
      }
    end
  end

  defp from_binary(type) do
    gen all elements <- list_of(element(type), min_length: 1, max_length: 70) do
      %Case{
        call: {Nx, :from_binary, [Number.encode(elements, type), type]},
        expected: fn -> elements end
      }
    end
  end
end
