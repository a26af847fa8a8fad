defmodule ExBurn.Conformance.Data do
  @moduledoc "What becomes of the data of a tensor: read, printed, cut in batches, copied, freed."

  use ExBurn.Conformance.Family

  @impl true
  def operations do
    [
      operation(:to_binary, &to_binary/1),
      operation(:inspect, &print/1),
      operation(:to_batched, &to_batched/1),
      operation(:backend_copy, &moved(:copied, &1)),
      operation(:backend_transfer, &moved(:transferred, &1)),
      operation(:backend_deallocate, &deallocated/1)
    ]
  end

  defp to_binary(type) do
    gen all shape <- shape(),
            operand <- operand(type, shape),
            limit <- integer(1..(Tuple.product(shape) + 1)) do
      %Case{
        call: {Nx, :to_binary, [operand, [limit: limit]]},
        expected: fn -> operand.elements |> Enum.take(limit) |> Number.encode(type) end
      }
    end
  end

  defp print(type) do
    gen all shape <- shape(), operand <- named(operand(type, shape)), limit <- integer(1..20) do
      %Case{
        call: {__MODULE__, :printed, [operand, [limit: limit]]},
        expected: fn -> operand |> Operand.on(Nx.BinaryBackend) |> printed(limit: limit) end
      }
    end
  end

  @doc "A tensor as it is shown."
  def printed(tensor, options), do: inspect(tensor, options)

  defp to_batched(type) do
    gen all shape <- shape(1..3),
            operand <- named(operand(type, shape)),
            batch <- integer(1..elem(shape, 0)),
            leftover <- member_of([:repeat, :discard]) do
      %Case{call: {__MODULE__, :batches, [operand, batch, [leftover: leftover]]}}
    end
  end

  @doc "All batches of a tensor."
  def batches(tensor, size, options) do
    tensor |> Nx.to_batched(size, options) |> Enum.to_list() |> List.to_tuple()
  end

  defp moved(how, type) do
    gen all shape <- shape(), operand <- named(operand(type, shape)) do
      %Case{
        call: {__MODULE__, how, [operand]},
        expected: fn -> Operand.on(operand, Nx.BinaryBackend) end
      }
    end
  end

  @doc "A tensor copied to another backend and back."
  def copied(tensor) do
    {backend, _} = Nx.default_backend()
    other = Nx.backend_copy(tensor, Nx.BinaryBackend)
    copy = Nx.backend_copy(other, backend)
    true = Nx.to_binary(copy) == Nx.to_binary(tensor)
    copy
  end

  @doc "A tensor transferred to another backend and back."
  def transferred(tensor) do
    {backend, _} = Nx.default_backend()
    tensor |> Nx.backend_transfer(Nx.BinaryBackend) |> Nx.backend_transfer(backend)
  end

  defp deallocated(type) do
    gen all shape <- shape(), operand <- operand(type, shape) do
      %Case{
        call: {__MODULE__, :deallocate_twice, [operand]},
        expected: fn -> "ok, already_deallocated" end
      }
    end
  end

  @doc "What the backend answers when a tensor is deallocated, and when it already is."
  def deallocate_twice(tensor) do
    Enum.map_join(1..2, ", ", fn _ -> Nx.backend_deallocate(tensor) end)
  end
end
