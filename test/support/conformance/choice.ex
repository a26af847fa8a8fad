defmodule ExBurn.Conformance.Choice do
  @moduledoc "Elements chosen by others: by a predicate, or by limits."

  use ExBurn.Conformance.Family

  import ExBurn.Conformance.Elementwise, only: [narrower: 1]

  alias ExBurn.Conformance.Scalar

  @impl true
  def operations do
    [operation(:select, &select/1), operation(:clip, [types: reals()], &clip/1)]
  end

  # The predicate is of any type; NaN is true, and so is a complex zero to the reference.
  defp select(type) do
    gen all predicate <- one_of([member_of(types()), constant({:u, 8})]),
            other <- joined_type(type),
            shape <- shape(),
            condition <- member_of([shape, {}]),
            predicate <- operand(predicate, condition, truth(predicate)),
            element = if(other == type, do: &element/1, else: &exact_positive/1),
            yes_shape <- if(condition == {}, do: constant(shape), else: narrower(shape)),
            yes <- operand(type, yes_shape, element.(type)),
            no_shape <- narrower(shape),
            no <- operand(other, no_shape, element.(other)) do
      %Case{
        call: {Nx, :select, [predicate, yes, no]},
        expected: fn ->
          operands = [truths(predicate), yes, no]
          apply(Nx, :select, Enum.map(operands, &Operand.reference/1))
        end
      }
    end
  end

  defp truths(predicate) do
    truths = Enum.map(predicate.elements, &(1 - Scalar.logical_not(&1)))
    %{predicate | type: {:u, 8}, elements: truths}
  end

  defp truth(type), do: one_of([unit(type), element(type)])

  # Of floats, NaN stays, where the reference makes it the least.
  defp clip(type) do
    gen all shape <- shape(),
            operand <- vectorized(named(operand(type, shape))),
            limits <- list_of(limit(type), length: 2),
            [low, high] = Enum.sort(limits),
            low <- operand(type, {}, constant(low)),
            high <- operand(type, {}, constant(high)) do
      clip = &(&1 |> Scalar.max(hd(low.elements)) |> Scalar.min(hd(high.elements)))

      %Case{
        call: {Nx, :clip, [operand, low, high]},
        expected: fn ->
          Operand.reference(%{operand | elements: Enum.map(operand.elements, clip)})
        end
      }
    end
  end

  defp limit({kind, _} = type) when kind in [:s, :u], do: element(type)
  defp limit(type), do: small(type)
end
