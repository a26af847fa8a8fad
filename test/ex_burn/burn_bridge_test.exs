defmodule ExBurn.BurnBridgeTest do
  use ExUnit.Case, async: true

  alias ExBurn.{BurnBridge, Error, Tensor}

  doctest BurnBridge

  # What the results are compared with is computed by `Nx.BinaryBackend` or by hand.
  setup do
    Nx.default_backend(Nx.BinaryBackend)
    :ok
  end

  @floats ~w(f16 bf16 f32 f64)a
  @integers ~w(s8 s16 s32 s64 u8 u16 u32 u64)a
  @types @integers ++ @floats

  defp bridge(%Nx.Tensor{} = nx) do
    {:ok, tensor} = Tensor.from_nx(nx)
    tensor
  end

  defp bridge(data), do: bridge(Nx.tensor(data))

  defp nx(tensor) do
    {:ok, nx} = BurnBridge.to_nx(tensor)
    Nx.backend_copy(nx, Nx.BinaryBackend)
  end

  defp list(tensor), do: tensor |> nx() |> Nx.to_list()
  defp scalar(tensor), do: tensor |> nx() |> Nx.to_number()

  defp assert_same(tensor, %Nx.Tensor{} = expected) do
    actual = nx(tensor)
    assert {actual.type, actual.shape} == {expected.type, expected.shape}
    assert Nx.to_binary(actual) == Nx.to_binary(expected)
  end

  # Within a few units in the last place of the type.
  defp assert_near(tensor, %Nx.Tensor{} = expected, type) do
    actual = nx(tensor)
    assert {actual.type, actual.shape} == {Nx.Type.normalize!(type), expected.shape}
    units = %{f16: 2.0e-3, bf16: 1.6e-2, f32: 1.0e-6, f64: 1.0e-14}
    difference = Nx.abs(Nx.subtract(Nx.as_type(actual, :f64), Nx.as_type(expected, :f64)))
    bound = Nx.multiply(units[type], Nx.max(Nx.abs(Nx.as_type(expected, :f64)), 1.0))
    assert Nx.to_number(Nx.all(Nx.less_equal(difference, bound))) == 1
  end

  defp sample(type, shape, start \\ 1) do
    shape |> Nx.iota() |> Nx.add(start) |> Nx.remainder(7) |> Nx.as_type(type)
  end

  defp float_of(type), do: if(type in @floats, do: type, else: :f32)

  describe "creation" do
    for type <- @types do
      test "of #{type}" do
        for shape <- [[], [3], [2, 1, 3, 1, 2]] do
          size = List.to_tuple(shape)

          assert_same(
            BurnBridge.zeros(shape, unquote(type)),
            Nx.broadcast(Nx.tensor(0, type: unquote(type)), size)
          )

          assert_same(
            BurnBridge.ones(shape, unquote(type)),
            Nx.broadcast(Nx.tensor(1, type: unquote(type)), size)
          )

          assert_same(
            BurnBridge.iota(shape, nil, unquote(type)),
            Nx.iota(size, type: unquote(type))
          )
        end

        assert_same(
          BurnBridge.iota([3, 2], 0, unquote(type)),
          Nx.iota({3, 2}, axis: 0, type: unquote(type))
        )
      end

      test "of random #{type}" do
        tensor = BurnBridge.rand([40, 50], unquote(type), 2, 6)
        assert {tensor.type, tensor.shape} == {unquote(type), [40, 50]}
        values = List.flatten(list(tensor))

        if unquote(type in @floats) do
          assert Enum.all?(values, &(&1 >= 2 and &1 <= 6))
          assert length(Enum.uniq(values)) > 50
          # The mean of 2000 draws is off by 0.026 on average.
          assert_in_delta Enum.sum(values) / 2000, 4.0, 0.2
        else
          assert Enum.sort(Enum.uniq(values)) == [2, 3, 4, 5]
          assert_in_delta Enum.sum(values) / 2000, 3.5, 0.2
        end
      end
    end

    test "of float defaults" do
      for tensor <- [BurnBridge.zeros([2]), BurnBridge.ones([2]), BurnBridge.rand([2])] do
        assert tensor.type == :f32
      end
    end

    test "refuses what makes no tensor" do
      for make <- [
            &BurnBridge.zeros/2,
            &BurnBridge.ones/2,
            &BurnBridge.rand/2,
            &BurnBridge.iota(&1, nil, &2)
          ] do
        for {shape, type} <- [{[0], :f32}, {[-1], :f32}, {{2}, :f32}, {:x, :f32}, {[2], :f99}] do
          assert_raise Error, ~r/: given .*, expected /, fn -> make.(shape, type) end
        end
      end

      assert_raise Error,
                   "iota: given axis 1 of shape {2}, expected an axis below the rank 1",
                   fn ->
                     BurnBridge.iota([2], 1)
                   end
    end
  end

  describe "rand/4" do
    test "draws anew, and again what the seed of :rand says" do
      draw = fn -> list(BurnBridge.rand([8])) end
      assert draw.() != draw.()
      :rand.seed(:exsss, 1)
      first = draw.()
      :rand.seed(:exsss, 1)
      assert draw.() == first
    end

    test "reaches both ends of an integer type" do
      for {type, low, high} <- [{:s8, -128, 127}, {:u8, 0, 255}] do
        values = list(BurnBridge.rand([20_000], type, low, high + 1))
        assert {Enum.min(values), Enum.max(values)} == {low, high}
      end

      greatest = 2 ** 64 - 1
      assert Enum.uniq(list(BurnBridge.rand([4], :u64, greatest, greatest + 1))) == [greatest]
    end

    test "counts the integers between two floats" do
      assert Enum.uniq(list(BurnBridge.rand([50], :s32, 0.5, 1.5))) == [1]
    end

    test "refuses a range that is empty or not the type's" do
      for {type, low, high} <- [
            {:f32, 1.0, 1.0},
            {:f32, 2, 1},
            {:f32, nil, 1},
            {:u8, -1, 5},
            {:u8, 0, 257},
            {:s32, 0.1, 0.9},
            {:s64, 0, 2 ** 40}
          ] do
        assert_raise Error, ~r/^rand: given/, fn -> BurnBridge.rand([2], type, low, high) end
      end
    end
  end

  describe "element by element" do
    for type <- @types do
      test "of one #{type}" do
        data = sample(unquote(type), {2, 3, 2})
        tensor = bridge(data)
        assert_same(BurnBridge.abs(tensor), Nx.abs(data))
        assert_same(BurnBridge.neg(tensor), Nx.negate(data))

        # The sum makes the zeros positive.
        zero = Nx.tensor(0, type: unquote(type))
        positive = data |> Nx.negate() |> Nx.max(zero) |> Nx.add(zero)
        assert_same(BurnBridge.relu(BurnBridge.neg(tensor)), positive)

        for name <- [:exp, :log, :sqrt, :sigmoid] do
          positive = Nx.add(data, Nx.tensor(1, type: unquote(type)))
          expected = apply(Nx, name, [Nx.as_type(positive, :f64)])

          assert_near(
            apply(BurnBridge, name, [bridge(positive)]),
            expected,
            float_of(unquote(type))
          )
        end
      end

      test "of #{type} and every other type" do
        for other <- @types,
            {left, right} <- [{{2, 3}, {2, 3}}, {{4, 1, 3}, {2, 1}}, {{}, {3}}] do
          [left, right] = [sample(unquote(type), left), sample(other, right, 3)]
          [a, b] = [bridge(left), bridge(right)]
          assert_same(BurnBridge.add(a, b), Nx.add(left, right))
          assert_same(BurnBridge.sub(a, b), Nx.subtract(left, right))
          assert_same(BurnBridge.mul(a, b), Nx.multiply(left, right))
          right = Nx.add(right, Nx.tensor(1, type: other))
          quotient = Nx.divide(Nx.as_type(left, :f64), Nx.as_type(right, :f64))
          type = Nx.type(Nx.divide(left, right))
          assert_near(BurnBridge.div(a, bridge(right)), quotient, ExBurn.Type.to_engine(type))
        end
      end

      test "powers of #{type}" do
        data = sample(unquote(type), {2, 3})
        assert_same(BurnBridge.pow(bridge(data), 2), Nx.pow(data, 2))
        exponent = Nx.tensor([[0], [2]], type: :u8)
        assert_same(BurnBridge.pow(bridge(data), bridge(exponent)), Nx.pow(data, exponent))
      end
    end

    test "powers by a float" do
      assert list(BurnBridge.pow(bridge([4, 9]), 0.5)) == [2.0, 3.0]
      assert list(BurnBridge.pow(bridge([4.0, 0.25]), -1)) == [0.25, 4.0]
    end

    test "at the edges" do
      assert list(BurnBridge.div(bridge([1, -1, 0]), bridge([0, 0, 0]))) == [
               :infinity,
               :neg_infinity,
               :nan
             ]

      assert list(BurnBridge.log(bridge([0.0, -1.0]))) == [:neg_infinity, :nan]
      assert list(BurnBridge.sqrt(bridge([-1.0]))) == [:nan]
      assert list(BurnBridge.sigmoid(bridge([-1000.0, 1000.0]))) == [0.0, 1.0]
      assert list(BurnBridge.neg(bridge(Nx.tensor([1, 0], type: :u8)))) == [255, 0]

      assert list(
               BurnBridge.add(
                 bridge(Nx.tensor([255], type: :u8)),
                 bridge(Nx.tensor([1], type: :u8))
               )
             ) == [0]
    end

    test "refuses shapes that don't broadcast, and says so" do
      for name <- [:add, :sub, :mul, :div, :pow] do
        assert_raise Error,
                     ~r/given shapes \{2, 3\} and \{2\}, expected shapes that broadcast/,
                     fn ->
                       apply(BurnBridge, name, [BurnBridge.ones([2, 3]), BurnBridge.ones([2])])
                     end
      end
    end
  end

  describe "reductions" do
    for type <- @types do
      test "of #{type}" do
        for shape <- [{}, {5}, {2, 3, 4}] do
          data = sample(unquote(type), shape)
          assert_same(BurnBridge.sum(bridge(data)), Nx.sum(data))

          assert_near(
            BurnBridge.mean(bridge(data)),
            Nx.mean(Nx.as_type(data, :f64)),
            float_of(unquote(type))
          )
        end
      end
    end

    test "don't overflow where the mean fits" do
      data = Nx.broadcast(Nx.tensor(60_000, type: :f16), {1000})

      assert scalar(BurnBridge.mean(bridge(data))) == 60_000.0

      assert scalar(BurnBridge.mean(BurnBridge.ones([1000, 1000], :bf16))) == 1.0
      assert scalar(BurnBridge.sum(BurnBridge.ones([1000], :u8))) == 1000
    end
  end

  describe "shape" do
    test "reshapes" do
      data = sample(:s16, {2, 3, 4})

      for shape <- [{24}, {4, 1, 6}, {2, 2, 2, 3}] do
        assert_same(
          BurnBridge.reshape(bridge(data), Tuple.to_list(shape)),
          Nx.reshape(data, shape)
        )
      end

      assert_same(BurnBridge.reshape(bridge(5), [1, 1]), Nx.tensor([[5]]))

      assert_raise Error, ~r/^reshape: given .*, expected a shape of 24 elements/, fn ->
        BurnBridge.reshape(bridge(data), [5])
      end

      assert_raise Error, ~r/^reshape: given shape \[-1\]/, fn ->
        BurnBridge.reshape(bridge(data), [-1])
      end
    end

    test "exchanges axes" do
      data = sample(:u8, {2, 3, 4, 5})
      tensor = bridge(data)
      assert_same(BurnBridge.transpose(tensor), Nx.transpose(data, axes: [0, 1, 3, 2]))
      assert_same(BurnBridge.transpose(tensor, 0, 2), Nx.transpose(data, axes: [2, 1, 0, 3]))
      assert_same(BurnBridge.transpose(tensor, 3, 1), Nx.transpose(data, axes: [0, 3, 2, 1]))
      assert_same(BurnBridge.transpose(tensor, 1, 1), data)
      assert_same(BurnBridge.transpose(bridge([[1, 2]])), Nx.tensor([[1], [2]]))
      assert_same(BurnBridge.transpose(bridge([1, 2])), Nx.tensor([1, 2]))
      assert_same(BurnBridge.transpose(bridge(1.5)), Nx.tensor(1.5))

      for {left, right} <- [{0, 4}, {4, 0}, {-1, 0}, {0, :x}] do
        assert_raise Error,
                     ~r/^transpose: given axis .*, expected an axis below the rank 4/,
                     fn ->
                       BurnBridge.transpose(tensor, left, right)
                     end
      end
    end

    test "stretches" do
      for {from, to} <- [{{}, {2, 3}}, {{3}, {2, 3}}, {{2, 1}, {4, 2, 3}}, {{1, 1}, {5, 1}}] do
        data = sample(:f16, from)
        assert_same(BurnBridge.broadcast(bridge(data), Tuple.to_list(to)), Nx.broadcast(data, to))
      end

      for shape <- [[3], [3, 3], [2, 2], [0, 2, 3], :x] do
        assert_raise Error, ~r/^broadcast: given .*, expected/, fn ->
          BurnBridge.broadcast(BurnBridge.ones([2, 3]), shape)
        end
      end
    end
  end

  describe "matmul/2" do
    for type <- @types do
      test "of #{type}" do
        [left, right] = [sample(unquote(type), {3, 4}), sample(unquote(type), {4, 2})]

        expected =
          Nx.as_type(Nx.dot(Nx.as_type(left, :s64), Nx.as_type(right, :s64)), unquote(type))

        assert_same(BurnBridge.matmul(bridge(left), bridge(right)), expected)
      end
    end

    test "of any ranks" do
      dot = fn left, right, contract_left, batch_left, contract_right, batch_right ->
        Nx.dot(left, contract_left, batch_left, right, contract_right, batch_right)
      end

      [vector, matrix, batch] = [sample(:f32, {4}), sample(:f32, {4, 3}), sample(:f32, {2, 3, 4})]

      for {left, right, expected} <- [
            {Nx.tensor(2.0), matrix, Nx.multiply(matrix, 2.0)},
            {matrix, Nx.tensor(2.0), Nx.multiply(matrix, 2.0)},
            {vector, vector, Nx.dot(vector, vector)},
            {vector, matrix, Nx.dot(vector, matrix)},
            {Nx.transpose(matrix), vector, Nx.dot(Nx.transpose(matrix), vector)},
            {batch, vector, Nx.dot(batch, vector)},
            {batch, matrix, Nx.dot(batch, matrix)},
            {Nx.iota({3}, type: :f32), batch, Nx.dot(Nx.iota({3}, type: :f32), [0], batch, [1])},
            {Nx.transpose(batch, axes: [0, 2, 1]), batch, dot.(batch, batch, [1], [0], [1], [0])}
          ] do
        assert_same(BurnBridge.matmul(bridge(left), bridge(right)), expected)
      end
    end

    test "broadcasts the axes that count matrices" do
      left = sample(:f64, {5, 1, 2, 3})
      right = sample(:f64, {4, 3, 2}, 2)
      stretched = [Nx.broadcast(left, {5, 4, 2, 3}), Nx.broadcast(right, {5, 4, 3, 2})]
      [a, b] = stretched

      assert_same(
        BurnBridge.matmul(bridge(left), bridge(right)),
        Nx.dot(a, [3], [0, 1], b, [2], [0, 1])
      )

      flat = sample(:f64, {2, 3})
      repeated = Nx.broadcast(flat, {4, 2, 3})

      assert_same(
        BurnBridge.matmul(bridge(flat), bridge(right)),
        Nx.dot(repeated, [2], [0], right, [1], [0])
      )
    end

    test "merges types" do
      assert BurnBridge.matmul(BurnBridge.ones([2, 2], :u8), BurnBridge.ones([2, 2], :s8)).type ==
               :s16

      assert BurnBridge.matmul(BurnBridge.ones([2, 2], :bf16), BurnBridge.ones([2, 2], :s64)).type ==
               :bf16
    end

    test "refuses what doesn't fit" do
      for {left, right} <- [
            {[2, 3], [2, 3]},
            {[3], [2]},
            {[2, 3], [2]},
            {[2], [3, 2]},
            {[2, 2, 3], [3, 3, 2]}
          ] do
        assert_raise Error, ~r/^matmul: given f32 .* and f32 .*, expected/, fn ->
          BurnBridge.matmul(BurnBridge.ones(left), BurnBridge.ones(right))
        end
      end
    end
  end

  describe "softmax/2" do
    for type <- @types do
      test "of #{type} along every axis" do
        data = sample(unquote(type), {2, 3, 4})

        for axis <- 0..2 do
          exponentials = Nx.exp(Nx.as_type(data, :f64))
          expected = Nx.divide(exponentials, Nx.sum(exponentials, axes: [axis], keep_axes: true))
          assert_near(BurnBridge.softmax(bridge(data), axis), expected, float_of(unquote(type)))
        end
      end
    end

    test "stays finite at any size" do
      assert list(BurnBridge.softmax(bridge([1.0e38, 0.0, -1.0e38]), 0)) == [1.0, 0.0, 0.0]
      assert list(BurnBridge.softmax(bridge(Nx.tensor([0, 255], type: :u8)), 0)) == [0.0, 1.0]

      shares = BurnBridge.softmax(BurnBridge.zeros([100_000]), 0)
      assert_in_delta scalar(BurnBridge.sum(shares)), 1.0, 1.0e-4
    end

    test "refuses an axis that isn't there" do
      assert_raise Error,
                   "softmax: given axis 1 of shape {2}, expected an axis below the rank 1",
                   fn ->
                     BurnBridge.softmax(BurnBridge.ones([2]), 1)
                   end
    end
  end

  describe "dropout/3" do
    test "is the tensor itself without training" do
      tensor = bridge([1, 2])
      assert BurnBridge.dropout(tensor, 0.5, false) == tensor
      assert BurnBridge.dropout(tensor, 0.5) == tensor
    end

    test "keeps its share and the mean" do
      values = list(BurnBridge.dropout(BurnBridge.ones([10_000]), 0.25, true))
      {zeros, kept} = Enum.split_with(values, &(&1 == 0.0))
      # 2500 on average, with a deviation of 43.
      assert_in_delta length(zeros), 2500, 260
      assert Enum.all?(kept, &(Kernel.abs(&1 - 4 / 3) < 1.0e-6))
    end

    test "at the ends of the rate" do
      assert list(BurnBridge.dropout(bridge([1.0, -2.0]), 0.0, true)) == [1.0, -2.0]
      assert list(BurnBridge.dropout(bridge([1.0, :infinity]), 1.0, true)) == [0.0, 0.0]
    end

    test "of every type" do
      for type <- @types do
        tensor = BurnBridge.dropout(BurnBridge.ones([3, 2], type), 0, true)

        assert {tensor.type, list(tensor)} ==
                 {float_of(type), [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]}
      end
    end

    test "refuses a rate that isn't one" do
      for rate <- [-0.1, 1.1, nil] do
        assert_raise Error, ~r/^dropout: given rate .*, expected a number from 0 to 1/, fn ->
          BurnBridge.dropout(BurnBridge.ones([2]), rate, true)
        end
      end
    end
  end

  describe "layer_norm/3" do
    for type <- @types do
      test "of #{type} along every axis" do
        data = sample(unquote(type), {2, 5, 3})

        for axis <- 0..2 do
          wide = Nx.as_type(data, :f64)
          mean = Nx.mean(wide, axes: [axis], keep_axes: true)
          variance = Nx.variance(wide, axes: [axis], keep_axes: true)
          expected = Nx.divide(Nx.subtract(wide, mean), Nx.sqrt(Nx.add(variance, 0.5)))

          assert_near(
            BurnBridge.layer_norm(bridge(data), axis, 0.5),
            expected,
            float_of(unquote(type))
          )
        end
      end
    end

    test "of equal elements is 0" do
      assert list(BurnBridge.layer_norm(BurnBridge.ones([3]), 0)) == [0.0, 0.0, 0.0]
    end

    test "refuses an axis that isn't there" do
      assert_raise Error, ~r/^layer_norm: given axis 2/, fn ->
        BurnBridge.layer_norm(BurnBridge.ones([2, 2]), 2, 1.0e-5)
      end
    end
  end

  describe "cross_entropy/2" do
    test "is the mean over the examples" do
      predictions = Nx.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]])
      targets = [[0, 0, 1], [0.25, 0.75, 0]]

      losses =
        for {row, target} <- Enum.zip(Nx.to_list(predictions), targets) do
          total = row |> Enum.map(&:math.exp/1) |> Enum.sum() |> :math.log()
          Enum.zip_reduce(row, target, 0.0, fn x, t, sum -> sum - t * (x - total) end)
        end

      expected = Nx.tensor(Enum.sum(losses) / 2, type: :f64)

      for type <- @floats do
        loss =
          BurnBridge.cross_entropy(
            bridge(Nx.as_type(predictions, type)),
            bridge(Nx.as_type(Nx.tensor(targets), type))
          )

        assert_near(loss, expected, type)
      end

      [predictions, targets] =
        for data <- [predictions, Nx.tensor(targets)], do: bridge(Nx.reshape(data, {2, 1, 3}))

      assert_near(BurnBridge.cross_entropy(predictions, targets), expected, :f32)
    end

    test "takes one example and integers" do
      assert_in_delta scalar(
                        BurnBridge.cross_entropy(bridge([0, 0, 0, 0]), bridge([0, 1, 0, 0]))
                      ),
                      :math.log(4),
                      1.0e-6
    end

    test "is finite however far it is off" do
      assert scalar(BurnBridge.cross_entropy(bridge([0.0, 1.0e30]), bridge([0.0, 1.0]))) == 0.0

      assert_in_delta scalar(BurnBridge.cross_entropy(bridge([0.0, 1.0e4]), bridge([1.0, 0.0]))),
                      1.0e4,
                      1.0e-2

      assert scalar(BurnBridge.cross_entropy(bridge([0.0, :neg_infinity]), bridge([1.0, 0.0]))) ==
               0.0
    end

    test "refuses two shapes and scalars" do
      for {left, right} <- [{[2, 3], [2]}, {[2, 3], [1, 3]}, {[], []}] do
        assert_raise Error, ~r/^cross_entropy: given .*, expected/, fn ->
          BurnBridge.cross_entropy(BurnBridge.ones(left), BurnBridge.ones(right))
        end
      end
    end
  end

  describe "mse/2" do
    test "is the mean of the squares" do
      for type <- @types do
        [left, right] = [sample(type, {2, 3}), sample(type, {2, 3}, 3)]
        difference = Nx.subtract(Nx.as_type(left, :f64), Nx.as_type(right, :f64))
        expected = Nx.mean(Nx.multiply(difference, difference))
        assert_near(BurnBridge.mse(bridge(left), bridge(right)), expected, float_of(type))
      end

      assert scalar(BurnBridge.mse(bridge(3), bridge(1))) == 4.0
    end

    test "refuses two shapes" do
      assert_raise Error,
                   "mse: given f32 {2, 1} and f32 {2}, expected two tensors of one shape",
                   fn ->
                     BurnBridge.mse(BurnBridge.ones([2, 1]), BurnBridge.ones([2]))
                   end
    end
  end

  test "a freed tensor is refused by every operation" do
    tensor = BurnBridge.ones([2, 2])
    assert BurnBridge.free(tensor) == :ok
    assert BurnBridge.free(tensor) == :ok
    assert {:error, %Error{}} = BurnBridge.to_nx(tensor)

    one = [:abs, :neg, :exp, :log, :sqrt, :sigmoid, :relu, :sum, :mean, :transpose, :to_cpu]
    two = [:add, :sub, :mul, :div, :pow, :matmul, :cross_entropy, :mse]

    calls =
      for(name <- one, do: {name, [tensor]}) ++
        for(name <- two, do: {name, [tensor, tensor]}) ++
        [
          softmax: [tensor, 0],
          reshape: [tensor, [4]],
          transpose: [tensor, 0, 1],
          broadcast: [tensor, [2, 2]],
          dropout: [tensor, 0.5, true],
          layer_norm: [tensor, 0, 0.1]
        ]

    for {name, arguments} <- calls do
      assert_raise Error, ~r/given a deallocated tensor/, fn ->
        apply(BurnBridge, name, arguments)
      end
    end
  end

  test "gpu_memory_info/0 counts in bytes" do
    info = BurnBridge.gpu_memory_info()
    assert info |> Map.values() |> Enum.all?(&(is_integer(&1) and &1 >= 0))
    if not BurnBridge.gpu_available?(), do: assert(info == %{total: 0, used: 0, free: 0})
  end
end
