defmodule ExBurn.Backend.Check do
  @moduledoc false
  # What Nx refuses by the values of tensors. Within a program, and on a graphics processor, where
  # looking at them would wait for it, indices out of range are clamped instead.

  alias ExBurn.{Backend, Engine}
  alias Nx.Tensor, as: T

  @doc "Raises for the arguments of a callback of `Nx.Backend`, or of an `Nx.Block`, that Nx refuses."
  @spec values!(atom() | struct(), [term()]) :: :ok
  def values!(name, args)

  def values!(:gather, [tensor, indices, options]) do
    within!(tensor, options[:axes], indices, Nx.axis_size(indices, -1))
  end

  def values!(name, [tensor, indices, _updates, options])
      when name in [:indexed_add, :indexed_put] do
    within!(tensor, options[:axes], indices, Nx.axis_size(indices, -1))
  end

  def values!(%block{axis: axis}, [tensor, indices])
      when block in [Nx.Block.Take, Nx.Block.TakeAlongAxis] do
    within!(tensor, [axis], indices, 1)
  end

  def values!(name, [_tensor, %T{type: {:s, _}} = amount])
      when name in [:left_shift, :right_shift] do
    least = if near?(amount), do: amount |> Nx.reduce_min() |> Nx.to_number(), else: 0

    if least < 0 do
      raise ArgumentError, "cannot #{String.replace(to_string(name), "_", " ")} by #{least}"
    end

    :ok
  end

  def values!(:atan2, operands) do
    for %T{type: {:c, _}} = operand <- operands, near?(operand) do
      if operand |> Nx.imag() |> Nx.any() |> Nx.to_number() == 1 do
        raise ArithmeticError, "Complex.atan2 only accepts real numbers as arguments"
      end
    end

    :ok
  end

  def values!(_name, _args), do: :ok

  # Rows of `count` indices, one of each axis.
  defp within!(tensor, axes, indices, count) do
    if near?(indices) do
      indices = Nx.reshape(indices, {:auto, count})
      least = indices |> Nx.reduce_min(axes: [0]) |> Nx.to_flat_list()
      greatest = indices |> Nx.reduce_max(axes: [0]) |> Nx.to_flat_list()

      for {axis, low, high} <- Enum.zip([axes, least, greatest]),
          index <- [low, high],
          index not in 0..(Nx.axis_size(tensor, axis) - 1) do
        raise ArgumentError,
              "index #{index} is out of bounds for axis #{axis} in shape #{inspect(tensor.shape)}"
      end
    end

    :ok
  end

  defp near?(%T{data: %Backend{ref: ref}}), do: Engine.device(ref) == :cpu
  defp near?(_on_another_backend), do: true
end
