defmodule ExBurn.Hostile do
  @moduledoc "Generators of arguments that no function of the native library expects."

  import StreamData

  # `StreamData.float/0` takes most of a second where floats are nested deep.
  @floats [0.0, -0.0, 1.5, -2.0e300, 5.0e-324, 1.7976931348623157e308]

  @doc "Any term at all, and now and then one that is almost right."
  def argument(tensors, programs) do
    frequency([
      {3, garbage()},
      {2, member_of(tensors)},
      {1, member_of(programs)},
      {2, list_of(member_of(tensors), max_length: 4)},
      {3, operation()},
      {1, member_of([:f32, :s64, :u8, :bf16, :cpu, :cuda, nil])},
      {1, list_of(size(), max_length: 4)},
      {1, graph()}
    ])
  end

  @doc "Terms of every kind, nested."
  def garbage do
    tree(leaf(), fn inner ->
      one_of([
        list_of(inner, max_length: 4),
        map({inner, inner}, fn {head, tail} -> [head | tail] end),
        map(list_of(inner, max_length: 4), &List.to_tuple/1),
        map_of(inner, inner, max_length: 3)
      ])
    end)
  end

  defp leaf do
    one_of([
      integer(),
      map(integer(), &(&1 * 0x1_0000_0000_0000_0000)),
      member_of(@floats),
      boolean(),
      atom(:alphanumeric),
      binary(),
      bitstring(),
      constant(nil),
      constant(make_ref()),
      constant(self()),
      constant(&Function.identity/1),
      constant(%ArgumentError{})
    ])
  end

  @families %{
    unary: [],
    binary: [],
    convert: [],
    choose: [],
    constant: [:value, :shape],
    iota: [:shape, :axis],
    eye: [:shape],
    reshape: [:shape],
    transpose: [:axes],
    broadcast: [:shape, :axes],
    reverse: [:axes],
    pad: [:padding],
    concatenate: [:axis],
    stack: [:axis],
    reduce: [:kind, :axes, :keep_axes],
    arg_reduce: [:kind, :axis, :keep_axis, :tie_break],
    sort: [:axis, :descending],
    argsort: [:axis, :descending],
    cumulative: [:kind, :axis, :reverse],
    window: [:kind, :dimensions, :strides, :padding, :dilations],
    window_scatter: [:kind, :dimensions, :strides, :padding],
    slice: [:starts, :lengths, :strides],
    dynamic_slice: [:lengths, :strides],
    put_slice: [:starts],
    dynamic_put_slice: [],
    gather: [:axes],
    take: [:axis],
    take_along_axis: [:axis],
    indexed: [:kind, :axes],
    dot: [:contract_left, :batch_left, :contract_right, :batch_right],
    conv: [
      :strides,
      :padding,
      :input_dilation,
      :kernel_dilation,
      :feature_groups,
      :batch_groups,
      :input_permutation,
      :kernel_permutation,
      :output_permutation
    ]
  }

  @doc "An operation of the engine with attributes of the right kind and any value."
  def operation do
    bind(member_of(Map.to_list(@families)), fn {family, keys} ->
      map(attributes(family, keys), &{family, &1})
    end)
  end

  defp attributes(:unary, _), do: member_of([:exp, :erf_inv, :population_count, :nothing])
  defp attributes(:binary, _), do: member_of([:add, :quotient, :pow, :left_shift, :nothing])
  defp attributes(:convert, _), do: member_of([:as_type, :bitcast])
  defp attributes(:choose, _), do: member_of([:select, :clip])
  defp attributes(_, keys), do: fixed_map(Map.new(keys, &{&1, attribute(&1)}))

  defp attribute(key) when key in [:keep_axes, :keep_axis, :descending, :reverse], do: boolean()
  defp attribute(:tie_break), do: member_of([:low, :high])

  defp attribute(:kind) do
    member_of([:sum, :product, :max, :min, :reduce_max, :all, :argmax, :add, :put])
  end

  defp attribute(:value),
    do: one_of([integer(), member_of(@floats), member_of([:nan, :infinity, :no])])

  defp attribute(:padding) do
    one_of([
      list_of({amount(), amount()}, max_length: 3),
      list_of({amount(), amount(), amount()}, max_length: 3)
    ])
  end

  defp attribute(:axis), do: one_of([size(), constant(nil)])
  defp attribute(key) when key in [:feature_groups, :batch_groups], do: size()
  defp attribute(_sizes), do: list_of(size(), max_length: 4)

  defp size, do: one_of([integer(0..4), extreme(), garbage()])
  defp amount, do: one_of([integer(-3..3), extreme()])

  defp extreme do
    member_of([-1, 2 ** 31, 2 ** 40, 2 ** 62, 2 ** 63 - 1, 2 ** 64 - 1, -(2 ** 63)])
  end

  @doc "A program that may or may not be valid."
  def graph, do: graph(1)

  defp graph(depth) do
    spec =
      fixed_map(%{dtype: member_of([:f32, :s8, :c64]), shape: list_of(size(), max_length: 3)})

    fixed_map(%{
      inputs: list_of(spec, max_length: 2),
      instructions: list_of(instruction(depth), max_length: 3),
      outputs: values()
    })
  end

  defp instruction(0) do
    map({operation(), values(), member_of([:f32, :u8, :s64])}, fn {op, operands, type} ->
      {:apply, %{op: op, operands: operands, dtype: type}}
    end)
  end

  defp instruction(depth) do
    inner = graph(depth - 1)

    cond =
      fixed_map(%{predicate: size(), operands: values(), branches: list_of(inner, length: 2)})

    while = fixed_map(%{operands: values(), condition: inner, body: inner})
    one_of([instruction(0), map(cond, &{:cond, &1}), map(while, &{:while, &1}), garbage()])
  end

  defp values, do: list_of(size(), max_length: 3)
end
