defmodule ExBurn.Defn.FoldTest do
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Nx.Defn
  alias ExBurn.Defn.{Compiler, Lower}

  # The digits of a number in base 10: neither commutative nor associative, so that a wrong order
  # or a wrong start shows.
  defn append(element, acc), do: acc * 10 + element

  # Has no counterpart that works on many elements at once.
  defn append_odd(element, acc) do
    if Nx.remainder(element, 2) == 1, do: append(element, acc), else: acc
  end

  defp on_binary_backend(fun) do
    Nx.with_default_backend(Nx.BinaryBackend, fun)
  end

  defp same(given, expected) do
    assert Nx.type(given) == Nx.type(expected)
    assert Nx.shape(given) == Nx.shape(expected)
    assert Nx.names(given) == Nx.names(expected)
    assert Nx.to_flat_list(given) == Nx.to_flat_list(expected)
  end

  # The sizes of up to three axes, small enough for the digits of an integer.
  defp shapes, do: map(list_of(integer(1..3), length: 1..3), &List.to_tuple/1)

  property "reduce folds each lane in order from the accumulator" do
    check all shape <- shapes(),
              axes <-
                one_of([
                  nil,
                  list_of(member_of(Enum.to_list(0..(tuple_size(shape) - 1))), min_length: 1)
                ]),
              keep_axes <- boolean(),
              fun <- member_of([&append/2, &append_odd/2]) do
      axes = if axes && tuple_size(shape) > 1, do: Enum.uniq(axes)
      options = [axes: axes, keep_axes: keep_axes]
      reduce = fn -> Nx.reduce(Nx.remainder(Nx.iota(shape, type: :s64), 10), 7, options, fun) end
      same(reduce.(), on_binary_backend(reduce))
    end
  end

  property "window_reduce folds each window, padded with the accumulator, in order" do
    check all shape <- shapes(),
              rank = tuple_size(shape),
              each_axis = fn range -> list_of(integer(range), length: rank) end,
              window <- each_axis.(1..2),
              strides <- each_axis.(1..3),
              dilations <- each_axis.(1..2),
              padding <- list_of(tuple({integer(1..2), integer(1..2)}), length: rank),
              fun <- member_of([&append/2, &append_odd/2]) do
      options = [strides: strides, window_dilations: dilations, padding: padding]

      reduce = fn ->
        tensor = Nx.remainder(Nx.iota(shape), 10)
        Nx.window_reduce(tensor, 3, List.to_tuple(window), options, fun)
      end

      same(reduce.(), on_binary_backend(reduce))
    end
  end

  test "types follow Nx and integers wrap" do
    product = fn type -> Nx.reduce(Nx.iota({6}, type: type), 3, [type: type], &append/2) end
    assert Nx.to_number(product.(:u8)) == rem(3_012_345, 256)
    assert Nx.type(product.(:u8)) == {:u, 8}
    assert Nx.to_number(product.(:f64)) == 3_012_345.0

    same(
      Nx.reduce(Nx.tensor([1, 2]), 0.5, &Nx.add/2),
      Nx.tensor(3.5)
    )
  end

  test "functions of complex numbers, of constants and of captured tensors" do
    assert Nx.to_number(Nx.reduce(Nx.tensor([Complex.new(0, 2), 3]), 1, &Nx.multiply/2)) ==
             Complex.new(0.0, 6.0)

    assert Nx.to_number(Nx.reduce(Nx.tensor([4, 5]), 0, fn _, _ -> 9 end)) == 9

    # Nx lets a function capture tensors of its own backend alone.
    scale = Nx.tensor(100, backend: Nx.BinaryBackend)
    scaled = Nx.reduce(Nx.tensor([4, 5]), 1, fn x, acc -> Nx.add(x, Nx.multiply(acc, scale)) end)
    assert Nx.to_number(scaled) == 10_405
  end

  test "vectorized axes stay" do
    tensor = Nx.vectorize(Nx.tensor([[1, 2], [3, 4]]), :rows)
    folded = Nx.reduce(tensor, 0, &append/2)
    assert folded.vectorized_axes == [rows: 2]
    assert Nx.to_list(Nx.devectorize(folded)) == [12, 34]
  end

  defn folds(tensor) do
    lanes = Nx.reduce(tensor, 0, [axes: [1]], &append/2)
    windows = Nx.window_reduce(lanes, 0, {2}, &append_odd/2)
    {lanes, windows, Nx.reduce(lanes, 0, &Nx.max/2)}
  end

  test "within a program, in a loop and in a branch" do
    tensor = Nx.tensor([[1, 2], [3, 4], [5, 7]])
    assert {:ok, _, _} = Lower.lower(Nx.Defn.debug_expr_apply(&folds/1, [tensor]))
    {lanes, windows, greatest} = Nx.Defn.jit_apply(&folds/1, [tensor], compiler: Compiler)
    assert Nx.to_list(lanes) == [12, 34, 57]
    assert Nx.to_list(windows) == [0, 57]
    assert Nx.to_number(greatest) == 57
    assert Nx.to_number(Nx.Defn.jit_apply(&nested/1, [tensor], compiler: Compiler)) == 12_345_757
  end

  defn nested(tensor) do
    {acc, _, _} =
      while {acc = 0, tensor, step = 0}, step < 2 do
        acc =
          if step == 0,
            do: Nx.reduce(tensor, acc, &append/2),
            else: Nx.reduce(tensor[2], acc, &append/2)

        {acc, tensor, step + 1}
      end

    acc
  end
end
