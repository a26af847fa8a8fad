defmodule ExBurn.Conformance.Predicates do
  @moduledoc "Comparison and logic of two tensors that broadcast."

  use ExBurn.Conformance.Family

  import ExBurn.Conformance.Elementwise

  alias ExBurn.Conformance.Scalar

  @impl true
  def operations do
    ordered =
      for name <- [:greater, :greater_equal, :less, :less_equal] do
        operation(name, [types: reals()], &cases(name, &1, reals()))
      end

    logical =
      for name <- [:equal, :not_equal, :logical_and, :logical_or, :logical_xor] do
        operation(name, &cases(name, &1, types()))
      end

    ordered ++ logical
  end

  # Elements from few, so that some are equal.
  defp cases(name, type, others) do
    gen all element <- member_of([&element/1, &unit/1]),
            operands <- pair(type, others, {element, element}) do
      test(name, operands, {:u, 8}, &apply(Scalar, name, [&1, &2]))
    end
  end
end
