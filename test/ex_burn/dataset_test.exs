defmodule ExBurn.DatasetTest do
  use ExUnit.Case, async: true

  alias ExBurn.{Dataset, Error}

  setup do
    Nx.default_backend(Nx.BinaryBackend)
    :ok
  end

  doctest Dataset

  defp refused(fun, message) do
    assert_raise Error, message, fun
  end

  defp pairs({x, y}), do: Enum.zip(Nx.to_list(x), Nx.to_list(y))

  # The second tensor says which row of the first belongs to it.
  defp data(count) do
    y = Nx.iota({count})
    {Nx.stack([y, Nx.multiply(y, 10)], axis: 1), y}
  end

  describe "digits/0" do
    test "holds every image and label unchanged" do
      {images, labels} = Dataset.digits()
      assert Nx.type(labels) == {:u, 8}
      assert Nx.to_list(images[0][0..7]) == [0, 0, 5, 13, 9, 1, 0, 0]
      assert images |> Nx.to_flat_list() |> Enum.min_max() == {0, 16}
      assert Nx.to_list(labels[0..9]) == Enum.to_list(0..9)

      counts = labels |> Nx.to_list() |> Enum.frequencies() |> Enum.sort()
      assert Enum.map(counts, &elem(&1, 1)) == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    end
  end

  describe "split/3" do
    test "keeps every example once, with its label" do
      {train, test} = Dataset.split(data(10), 0.8)
      assert {length(pairs(train)), length(pairs(test))} == {8, 2}
      assert Enum.sort(pairs(train) ++ pairs(test)) == pairs(data(10))
      refute pairs(train) == Enum.take(pairs(data(10)), 8)
    end

    test "the seed alone decides" do
      split = fn options -> data(50) |> Dataset.split(0.5, options) |> elem(0) |> pairs() end
      assert split.([]) == split.(seed: 0)
      refute split.(seed: 1) == split.(seed: 0)
    end

    test "leaves the caller's random numbers alone" do
      :rand.seed(:exsss, 7)
      state = :rand.export_seed()
      Dataset.split(data(10), 0.5)
      assert :rand.export_seed() == state
    end

    test "refuses what it can't split" do
      refused(
        fn -> Dataset.split(data(3), 1.0) end,
        ~r/split: given fraction 1.0, expected a float/
      )

      refused(fn -> Dataset.split(data(3), 2) end, ~r/given fraction 2/)
      refused(fn -> Dataset.split(data(3), 0.9) end, ~r/3 examples and the fraction 0.9/)
      refused(fn -> Dataset.split(data(3), 0.5, seed: -1) end, ~r/:seed -1/)

      refused(
        fn -> Dataset.split(data(3), 0.5, sed: 1) end,
        ~r/\[:sed\], expected :shuffle, :seed/
      )

      refused(
        fn -> Dataset.split({Nx.iota({3}), Nx.iota({4})}, 0.5) end,
        ~r/s32 \{3\} and s32 \{4\}/
      )

      refused(fn -> Dataset.split(Nx.tensor(1), 0.5) end, ~r/s32 \{\}/)
      refused(fn -> Dataset.split({}, 0.5) end, ~r/share their first axis/)
      refused(fn -> Dataset.split([1, 2], 0.5) end, ~r/\[1, 2\]/)
    end
  end

  describe "normalize/2" do
    test "keeps a float type and makes integers f32" do
      for {type, expected} <- [u8: {:f, 32}, s64: {:f, 32}, f64: {:f, 64}, bf16: {:bf, 16}],
          method <- [:min_max, :standard] do
        tensor = Nx.tensor([1, 3], type: type)
        assert tensor |> Dataset.normalize(method: method) |> Nx.type() == expected
      end
    end

    test "measures by feature" do
      tensor = Nx.tensor([[0, 10], [4, 30]])
      assert Nx.to_list(Dataset.normalize(tensor, axes: [0])) == [[0.0, 0.0], [1.0, 1.0]]

      assert Nx.to_list(Dataset.normalize(tensor, method: :standard, axes: [0])) ==
               [[-1.0, -1.0], [1.0, 1.0]]
    end

    test "doesn't wrap around below the smallest of what was measured" do
      tensor = Nx.tensor([0, 4], type: :u8)
      from = Nx.tensor([2, 4], type: :u8)
      assert Nx.to_list(Dataset.normalize(tensor, from: from)) == [-1.0, 1.0]
    end

    test "what doesn't vary becomes 0" do
      for method <- [:min_max, :standard] do
        assert Nx.to_list(Dataset.normalize(Nx.tensor([5, 5]), method: method)) == [0.0, 0.0]
      end
    end

    test "refuses a method or divisor that it doesn't know" do
      tensor = Nx.tensor([1, 2])
      refused(fn -> Dataset.normalize(tensor, method: :max) end, ~r/:method :max/)
      refused(fn -> Dataset.normalize(tensor, method: :scale) end, ~r/:by nil/)
      refused(fn -> Dataset.normalize(tensor, method: :scale, by: 0) end, ~r/:by 0/)
      refused(fn -> Dataset.normalize(tensor, metod: :scale) end, ~r/\[:metod\]/)
      refused(fn -> Dataset.normalize(Nx.tensor([Complex.new(1, 2)])) end, ~r/c64/)
    end
  end

  describe "one_hot/2" do
    test "works on labels of any rank and integer type" do
      assert Nx.to_list(Dataset.one_hot(Nx.tensor(1, type: :s64), 2)) == [0, 1]
      assert Nx.shape(Dataset.one_hot(Nx.tensor([[0, 1, 2]], type: :u8), 3)) == {1, 3, 3}
      assert Nx.type(Dataset.one_hot(Nx.tensor([0]), 3)) == {:u, 8}
    end

    test "refuses labels that are none of the classes" do
      refused(
        fn -> Dataset.one_hot(Nx.tensor([0, 3]), 3) end,
        ~r/from 0 to 3, expected labels from 0 to 2/
      )

      refused(fn -> Dataset.one_hot(Nx.tensor([-1]), 3) end, ~r/labels from -1/)
      refused(fn -> Dataset.one_hot(Nx.tensor([1.0]), 3) end, ~r/labels of type f32/)
      refused(fn -> Dataset.one_hot(Nx.tensor([1]), 0) end, ~r/classes 0/)
    end
  end

  describe "batches/2" do
    test "gives every example once, with its label" do
      for shuffle <- [true, false], size <- [1, 3, 7, 8] do
        batches = data(7) |> Dataset.batches(batch_size: size, shuffle: shuffle) |> Enum.to_list()
        assert length(batches) == ceil(7 / size)
        assert batches |> Enum.flat_map(&pairs/1) |> Enum.sort() == pairs(data(7))
      end
    end

    test "each pass has its own order, unless there is a seed" do
      passes = fn options ->
        batches = Dataset.batches(Nx.iota({100}), [batch_size: 100] ++ options)
        for _ <- 1..2, do: Enum.map(batches, &Nx.to_list/1)
      end

      assert [first, second] = passes.([])
      refute first == second
      assert [first, first] = passes.(seed: 3)
      refute [first, first] == passes.(seed: 4)
      assert [[ordered], [ordered]] = passes.(shuffle: false)
      assert ordered == Enum.to_list(0..99)
    end

    test "drops a smaller last batch when asked" do
      for shuffle <- [true, false] do
        sizes = fn count ->
          options = [batch_size: 4, drop_last: true, shuffle: shuffle]
          for batch <- Dataset.batches(Nx.iota({count}), options), do: Nx.axis_size(batch, 0)
        end

        assert sizes.(10) == [4, 4]
        assert sizes.(8) == [4, 4]
        assert sizes.(3) == []
      end
    end

    test "is lazy" do
      assert [batch] = Nx.iota({1000}) |> Dataset.batches(batch_size: 10) |> Enum.take(1)
      assert Nx.shape(batch) == {10}
    end

    test "refuses before the first batch" do
      refused(fn -> Dataset.batches(data(3), batch_size: 0) end, ~r/:batch_size 0/)
      refused(fn -> Dataset.batches(data(3), shuffle: nil) end, ~r/:shuffle nil/)
      refused(fn -> Dataset.batches(data(3), seed: 1.5) end, ~r/:seed 1.5/)
      refused(fn -> Dataset.batches(data(3), size: 1) end, ~r/\[:size\]/)
      refused(fn -> Dataset.batches({Nx.iota({3}), Nx.iota({2})}) end, ~r/share their first axis/)
    end
  end
end
