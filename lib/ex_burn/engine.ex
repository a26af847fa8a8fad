defmodule ExBurn.Engine do
  @moduledoc false
  # `ExBurn.Nif` with its answers dealt with: errors raised, garbage collected where that is asked
  # for, long work moved to a dirty scheduler.

  alias ExBurn.{Error, Nif}

  def devices, do: answer(Nif.devices())

  def from_binary(binary, type, shape, device) do
    with :dirty <- Nif.from_binary(binary, type, shape, device) do
      Nif.from_binary_dirty(binary, type, shape, device)
    end
    |> answer()
  end

  def to_binary(tensor, limit) do
    with :dirty <- Nif.to_binary(tensor, limit) do
      Nif.to_binary_dirty(tensor, limit)
    end
    |> answer()
  end

  def spec(tensor), do: answer(Nif.spec(tensor))
  def device(tensor), do: answer(Nif.device(tensor))
  def deallocate(tensor), do: answer(Nif.deallocate(tensor))
  def to_device(tensor, device), do: answer(Nif.to_device(tensor, device))

  def eval(op, operands, type, device) do
    with :dirty <- Nif.eval(op, operands, type, device) do
      Nif.eval_dirty(op, operands, type, device)
    end
    |> answer()
  end

  def compile(graph), do: answer(Nif.compile(graph))

  def run(program, inputs, device) do
    with :dirty <- Nif.run(program, inputs, device) do
      Nif.run_dirty(program, inputs, device)
    end
    |> answer()
  end

  def value_and_grad(program, inputs, by, device) do
    answer(Nif.value_and_grad(program, inputs, by, device))
  end

  defp answer({:ok, value}), do: value

  defp answer({:collect, value}) do
    :erlang.garbage_collect()
    value
  end

  # As Nx has it.
  defp answer({:error, {_op, "a singular matrix", _expected}}) do
    raise ArgumentError, "can't solve for singular matrix"
  end

  defp answer({:error, _reason} = error), do: raise(Error.from_tuple(error))
end
