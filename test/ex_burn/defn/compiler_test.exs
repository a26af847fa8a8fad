defmodule ExBurn.Defn.CompilerTest do
  use ExUnit.Case, async: true

  import Nx.Defn
  alias ExBurn.Defn.{Compiler, Lower}

  # The result under this compiler, after comparing it with the evaluator's on Nx.BinaryBackend.
  defp same_as_evaluator(function, args) do
    result = Nx.Defn.jit_apply(function, args, compiler: Compiler)

    expected =
      Nx.with_default_backend(Nx.BinaryBackend, fn ->
        args = for arg <- args, do: on_binary_backend(arg)
        Nx.Defn.jit_apply(function, args, compiler: Nx.Defn.Evaluator)
      end)

    assert_same(result, expected)
    result
  end

  defp on_binary_backend(arg) when is_number(arg), do: arg
  defp on_binary_backend(arg), do: Nx.backend_copy(arg, Nx.BinaryBackend)

  defp assert_same(result, expected) do
    flatten = &Nx.Defn.Composite.flatten_list([&1])
    assert length(flatten.(result)) == length(flatten.(expected))

    for {left, right} <- Enum.zip(flatten.(result), flatten.(expected)) do
      assert %Nx.Tensor{data: %ExBurn.Backend{}} = left
      assert Nx.type(left) == Nx.type(right)
      assert Nx.shape(left) == Nx.shape(right)
      assert Nx.names(left) == Nx.names(right)
      assert left.vectorized_axes == right.vectorized_axes
      left = left |> Nx.devectorize() |> Nx.to_flat_list()
      right = right |> Nx.devectorize() |> Nx.to_flat_list()

      for {left, right} <- Enum.zip(left, right) do
        assert left == right or abs(left - right) <= 1.0e-5 * max(1, abs(right))
      end
    end
  end

  # Fails if a function would run operation by operation.
  defp assert_lowers(function, templates) do
    expression = Nx.Defn.debug_expr_apply(function, templates)
    assert {:ok, _graph, _sources} = Lower.lower(expression)
  end

  defn chain(x, y, scale), do: x |> Nx.add(y) |> Nx.multiply(scale)

  test "runs a chain of operations as one program" do
    args = [Nx.tensor([1.0, 2.0]), Nx.tensor([3.0, 4.0]), 2.0]
    assert Nx.to_list(same_as_evaluator(&chain/3, args)) == [8.0, 12.0]
    assert_lowers(&chain/3, args)
  end

  defn containers({a, %{b: b}}), do: %{sum: a + b, both: {a, {b, Nx.tensor([1, 2, 3])}}}

  test "takes and gives tuples and maps" do
    assert %{sum: _, both: {_, {_, _}}} =
             Nx.Defn.jit_apply(&containers/1, [{1, %{b: Nx.tensor([1, 2])}}], compiler: Compiler)
  end

  defn unused(_x, y), do: y * 2

  test "leaves arguments out that nothing needs" do
    assert Nx.to_number(same_as_evaluator(&unused/2, [1, 3])) == 6
  end

  defn three_ways(x) do
    sum = Nx.sum(x)

    cond do
      sum > 10 -> {x * 2, sum}
      sum > 5 -> {x + sum, Nx.sum(x * x)}
      true -> {x - 1, 0}
    end
  end

  test "runs the branch that is chosen" do
    assert_lowers(&three_ways/1, [Nx.template({2}, :s32)])

    for {values, expected} <- [{[8, 9], [16, 18]}, {[3, 4], [10, 11]}, {[1, 2], [0, 1]}] do
      {result, _} = same_as_evaluator(&three_ways/1, [Nx.tensor(values)])
      assert Nx.to_list(result) == expected
    end
  end

  # Both branches need `shared`, which then belongs around them.
  defn shared(x, flag) do
    shared = Nx.exp(x)
    if flag, do: shared + x, else: shared * Nx.sum(shared)
  end

  test "computes around the branches what they share" do
    for flag <- [0, 1], do: same_as_evaluator(&shared/2, [Nx.tensor([0.5, 1.5]), flag])
  end

  defn factorial(n) do
    {product, _} = while {product = 1, n}, n > 1, do: {product * n, n - 1}
    product
  end

  test "repeats a loop without coming back" do
    assert_lowers(&factorial/1, [Nx.template({}, :s32)])
    assert Nx.to_number(same_as_evaluator(&factorial/1, [10])) == 3_628_800
    assert Nx.to_number(same_as_evaluator(&factorial/1, [0])) == 1
  end

  # A literal inside the loop, a branch inside the loop, a loop inside a branch.
  defn nested(n) do
    {_, sums, _} =
      while {i = 0, sums = Nx.tensor([0, 0, 0]), n}, i < n do
        sums =
          if Nx.remainder(i, 2) == 0 do
            sums + Nx.tensor([1, 2, 3])
          else
            {_, inner} = while({j = 0, inner = sums}, j < 3, do: {j + 1, inner + j})
            inner
          end

        {i + 1, sums, n}
      end

    sums
  end

  test "nests loops and branches" do
    assert_lowers(&nested/1, [Nx.template({}, :s32)])
    assert Nx.to_list(same_as_evaluator(&nested/1, [5])) == [9, 12, 15]
  end

  defn blocks(x), do: {Nx.top_k(x, k: 2), Nx.cumulative_sum(x, axis: 1), Nx.logical_not(x)}

  test "runs blocks, the engine's own and those made of operations" do
    assert_lowers(&blocks/1, [Nx.template({2, 3}, :s32)])
    same_as_evaluator(&blocks/1, [Nx.tensor([[3, 0, 2], [9, 7, 8]])])
  end

  defn loss(w, x, y) do
    logits = Nx.dot(Nx.tanh(x), w)
    Nx.mean(Nx.pow(Nx.sigmoid(logits) - y, 2))
  end

  defn loss_gradient(w, x, y), do: grad(w, &loss(&1, x, y))

  test "differentiates as Nx does" do
    w = Nx.tensor([[0.1, -0.2], [0.3, 0.7], [-0.5, 0.4]])
    x = Nx.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])
    same_as_evaluator(&loss_gradient/3, [w, x, Nx.tensor([[0.0, 1.0], [1.0, 0.0]])])
  end

  defn normal(key), do: Nx.Random.normal(key, shape: {3})

  test "draws the same random numbers" do
    same_as_evaluator(&normal/1, [Nx.Random.key(42)])
  end

  test "keeps vectorized axes and names" do
    x = Nx.tensor([[1, 2], [3, 4]], names: [:rows, nil]) |> Nx.vectorize(:rows)
    result = same_as_evaluator(&Nx.multiply(&1, &2), [x, Nx.tensor([10, 20], names: [:columns])])
    assert result.vectorized_axes == [rows: 2]
    assert Nx.names(result) == [:columns]
  end

  test "reaches the hooks of the caller" do
    caller = self()

    function = fn x ->
      x |> Nx.add(1) |> Nx.Defn.Kernel.io_call(:sum, &send(caller, {:hooked, Nx.to_number(&1)}))
    end

    result = Nx.Defn.jit_apply(function, [Nx.tensor(2)], compiler: Compiler)
    assert Nx.to_number(result) == 3
    assert_received {:hooked, 3}
  end

  test "compiles a graph of thousands of operations" do
    function = fn x -> Enum.reduce(1..5000, x, fn at, sum -> Nx.add(sum, Nx.add(x, at)) end) end
    result = Nx.Defn.jit_apply(function, [Nx.tensor(1, type: :s64)], compiler: Compiler)
    assert Nx.to_number(result) == 1 + 5000 + div(5000 * 5001, 2)
  end

  test "serves many processes at once" do
    function = fn x -> Nx.sum(Nx.multiply(x, 3)) end

    for task <-
          for(at <- 1..50, do: Task.async(fn -> {at, same_as_evaluator(function, [at])} end)) do
      {at, result} = Task.await(task)
      assert Nx.to_number(result) == 3 * at
    end
  end

  test "refuses devices that are not there" do
    assert_raise ExBurn.Error, ~r/device: given :nowhere/, fn ->
      Nx.Defn.jit_apply(&Nx.add/2, [1, 2], compiler: Compiler, device: :nowhere)
    end
  end
end
