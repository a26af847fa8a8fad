defmodule ExBurn.Conformance.Reduction do
  @moduledoc "One result of all elements along axes."

  use ExBurn.Conformance.Family

  alias ExBurn.Conformance.{Axis, Scalar}

  @impl true
  def operations do
    [
      operation(:sum, [tolerance: "8 ulps where it isn't exact"], &sum/1),
      operation(:product, [tolerance: "complex: 8 ulps"], &product/1),
      operation(:all, &truth(:all, &1)),
      operation(:any, &truth(:any, &1)),
      operation(
        :reduce_max,
        [types: reals()],
        &cases(:reduce_max, &1, element(&1), zeros: :equal)
      ),
      operation(
        :reduce_min,
        [types: reals()],
        &cases(:reduce_min, &1, element(&1), zeros: :equal)
      ),
      operation(:argmax, [types: reals()], &position(:argmax, &1)),
      operation(:argmin, [types: reals()], &position(:argmin, &1))
    ]
  end

  defp cases(name, type, element, options \\ []) do
    gen all shape <- shape(),
            operand <- vectorized(named(operand(type, shape, element))),
            reduced <- one_of([constant([]), map(axes(shape), &[axes: &1])]),
            keep? <- boolean() do
      struct!(%Case{call: {Nx, name, [operand, [keep_axes: keep?] ++ reduced]}}, options)
    end
  end

  # The reference, which takes complex zeros for true, has the truth of each element instead. Along
  # no axis at all, Nx only converts.
  defp truth(name, type) do
    gen all test <- filter(cases(name, type, one_of([unit(type), element(type)])), &reduces?/1) do
      {_, _, [operand, options]} = test.call
      truth = Enum.map(operand.elements, &(1 - Scalar.logical_not(&1)))
      truths = %{operand | type: {:u, 8}, elements: truth}
      %{test | expected: fn -> apply(Nx, name, [Operand.reference(truths), options]) end}
    end
  end

  defp reduces?(%{call: {_, _, [operand, options]}}) do
    scalar? = operand.shape == {} and (options[:keep_axes] or operand.vectorized != nil)
    options[:axes] != [] and not scalar?
  end

  # Integers wrap. Floats are such that their sums are exact, or all of one sign.
  defp sum({kind, _} = type) when kind in [:s, :u], do: cases(:sum, type, element(type))

  defp sum(type) do
    frequency([
      {3, cases(:sum, type, limited(type))},
      {1, cases(:sum, type, between(type, 0.125, 2), ulps: 8)}
    ])
  end

  defp limited({:c, _} = type), do: small(type)

  defp limited(type) do
    special = Number.round_to([:nan, :infinity, :neg_infinity], type)
    frequency([{40, small(type)}, {1, member_of(special)}])
  end

  defp product({kind, _} = type) when kind in [:s, :u], do: cases(:product, type, element(type))
  defp product({:c, _} = type), do: cases(:product, type, between(type, -1, 1), ulps: 8, scale: 1)

  # Powers of two, of which all products are exact.
  defp product(type) do
    cases(:product, type, member_of([-2.0, -1.0, -0.5, 0.5, 1.0, 1.0, 2.0]))
  end

  # Few different elements, so that some tie.
  defp position(name, type) do
    gen all shape <- shape(0..3),
            element <- member_of([element(type), unit(type)]),
            operand <- named(operand(type, shape, element)),
            axis <- axis_or_all(shape),
            keep? <- boolean(),
            tie <- member_of([:low, :high]) do
      options = [axis: axis, keep_axis: keep?, tie_break: tie]
      best = &position(&1, name, tie)

      %Case{
        call: {Nx, name, [operand, options]},
        expected: fn -> operand |> positions(axis, keep?, best) |> Operand.reference() end
      }
    end
  end

  defp axis_or_all({}), do: constant(nil)
  defp axis_or_all(shape), do: one_of([constant(nil), member_of(Nx.axes(shape))])

  defp positions(operand, nil, _keep?, best) do
    %Operand{type: {:s, 32}, shape: {}, elements: best.(operand.elements)}
  end

  defp positions(operand, axis, keep?, best) do
    positions = Axis.map(%{operand | type: {:s, 32}}, axis, best)
    if keep?, do: positions, else: Axis.drop(positions, axis)
  end

  # NaN is beyond all, and ties with itself.
  defp position(elements, name, tie) do
    extreme = Enum.reduce(elements, if(name == :argmax, do: &Scalar.max/2, else: &Scalar.min/2))
    same? = &(&1 == extreme)
    first = Enum.find_index(elements, same?)
    last = length(elements) - 1 - Enum.find_index(Enum.reverse(elements), same?)
    [if(tie == :low, do: first, else: last)]
  end
end
