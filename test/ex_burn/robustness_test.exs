defmodule ExBurn.RobustnessTest do
  @moduledoc """
  What users of backends like this one ran into: values at the edges, where `Nx.BinaryBackend`
  itself raises or is wrong, memory, processes, and other backends and compilers next to ours.
  """

  # Memory is counted for the whole node.
  use ExUnit.Case, async: false

  import ExBurn.Generators, only: [assert_same: 2, assert_same: 3, compare: 2, compare: 3]

  alias ExBurn.Nif

  @mebibyte 2 ** 20

  setup do
    Nx.default_backend(ExBurn.Backend)
    :ok
  end

  defp s64(numbers), do: Nx.tensor(numbers, type: :s64)
  defp u8(numbers), do: Nx.tensor(numbers, type: :u8)
  defp list(tensor), do: Nx.to_list(tensor)

  describe "not a number" do
    test "is kept by whatever chooses the larger or the smaller" do
      tensor = Nx.tensor([1.0, :nan, 3.0])

      for function <- [&Nx.reduce_max/1, &Nx.reduce_min/1],
          do: assert(Nx.to_number(function.(tensor)) == :nan)

      for function <- [&Nx.argmax/1, &Nx.argmin/1],
          do: assert(Nx.to_number(function.(tensor)) == 1)

      assert list(Nx.cumulative_max(Nx.tensor([1.0, :nan, 5.0]))) == [1.0, :nan, :nan]
      assert list(Nx.max(Nx.tensor([:nan, 1.0]), Nx.tensor([1.0, :nan]))) == [:nan, :nan]
      assert list(Nx.min(Nx.tensor([:nan, 1.0]), Nx.tensor([1.0, :nan]))) == [:nan, :nan]
      assert list(Nx.clip(Nx.tensor([:nan, -1.0, 2.0]), 0, 1)) == [:nan, 0.0, 1.0]
      assert list(Nx.sign(tensor)) == [1.0, :nan, 1.0]
    end

    test "is kept by a window wherever it stands in it" do
      for place <- 0..3 do
        tensor = [1.0, 2.0, 3.0, 4.0] |> List.replace_at(place, :nan) |> Nx.tensor()
        assert list(Nx.window_max(tensor, {4})) == [:nan]
        assert list(Nx.window_min(tensor, {4})) == [:nan]
      end
    end

    test "the first of several is the largest and the smallest, or the last if that is asked for" do
      tensor = Nx.tensor([1.0, :nan, 3.0, :nan])
      assert Nx.to_number(Nx.argmax(tensor)) == 1
      assert Nx.to_number(Nx.argmin(tensor)) == 1
      assert Nx.to_number(Nx.argmax(tensor, tie_break: :high)) == 3
    end

    test "is sorted as the largest number" do
      tensor = Nx.tensor([3.0, :nan, 1.0, :neg_infinity, :infinity, :nan, 2.0])
      ascending = [:neg_infinity, 1.0, 2.0, 3.0, :infinity, :nan, :nan]
      assert list(Nx.sort(tensor)) == ascending
      assert list(Nx.sort(tensor, direction: :desc)) == Enum.reverse(ascending)

      tensor = Nx.tensor([3.0, :nan, 1.0, :nan, 2.0])
      assert list(Nx.argsort(tensor)) == [2, 4, 0, 1, 3]
      assert list(Nx.argsort(tensor, direction: :desc)) == [1, 3, 0, 4, 2]

      {values, indices} = Nx.top_k(Nx.tensor([1.0, :nan, 3.0]), k: 2)
      assert {list(values), list(indices)} == {[:nan, 3.0], [1, 2]}
    end
  end

  describe "outside of a function's domain" do
    test "floats are what IEEE 754 says" do
      for {given, expected} <- [
            {Nx.divide(1, 0), :infinity},
            {Nx.divide(-1.0, 0.0), :neg_infinity},
            {Nx.divide(0, 0), :nan},
            {Nx.remainder(1.0, 0.0), :nan},
            {Nx.sqrt(-1), :nan},
            {Nx.rsqrt(0), :infinity},
            {Nx.pow(-8.0, 1 / 3), :nan},
            {Nx.log(0), :neg_infinity},
            {Nx.log(-1), :nan},
            {Nx.log1p(-1), :neg_infinity},
            {Nx.acos(2), :nan},
            {Nx.acosh(0), :nan},
            {Nx.atanh(1), :infinity},
            {Nx.erf_inv(1), :infinity},
            {Nx.exp(1000), :infinity},
            {Nx.exp(Nx.tensor(:neg_infinity)), 0.0},
            {Nx.sigmoid(-1000), 0.0},
            {Nx.tanh(1000), 1.0}
          ] do
        assert Nx.to_number(given) == expected
      end
    end

    test "integers wrap or are refused" do
      assert list(Nx.quotient(Nx.tensor([-128], type: :s8), Nx.tensor([-1], type: :s8))) == [-128]
      assert list(Nx.remainder(Nx.tensor([-128], type: :s8), Nx.tensor([-1], type: :s8))) == [0]

      for function <- [&Nx.quotient/2, &Nx.remainder/2], type <- [:s8, :u64] do
        zero = Nx.tensor([0], type: type)

        try do
          assert %Nx.Tensor{} = function.(Nx.tensor([7], type: type), zero)
        rescue
          error in ExBurn.Error -> assert Exception.message(error) =~ "zero"
        end
      end
    end
  end

  describe "integers" do
    test "the remainder has the sign of the dividend" do
      assert list(Nx.remainder(Nx.tensor([-2, 2, -2, 7]), Nx.tensor([3, -3, -3, 3]))) ==
               [-2, 2, -2, 1]

      assert list(Nx.remainder(Nx.tensor([-2.5, 2.5, -2.5]), Nx.tensor([2, -2, -2]))) ==
               [-0.5, 0.5, -0.5]
    end

    test "powers are exact and wrap" do
      assert list(Nx.pow(Nx.tensor([2, 3, -3, 7]), Nx.tensor([3, 2, 3, 10]))) ==
               [8, 9, -27, 282_475_249]

      assert list(Nx.pow(s64([3, 3, 2]), s64([39, 41, 64]))) ==
               [4_052_555_153_018_976_267, -420_491_770_248_316_829, 0]

      assert list(Nx.pow(u8([3]), u8([6]))) == [217]
    end

    test "64 bits are neither rounded nor narrowed" do
      assert Nx.to_number(Nx.dot(s64([4_294_967_297, 1]), s64([4_294_967_297, 1]))) ==
               8_589_934_594

      assert Nx.to_number(Nx.sum(Nx.tensor([16_777_217, 0]))) == 16_777_217
      assert Nx.to_number(Nx.sum(s64([9_007_199_254_740_993, 1]))) == 9_007_199_254_740_994
      large = Nx.tensor(3_000_000_000, type: :u32)
      assert Nx.to_number(Nx.less(large, 5)) == 0
      assert Nx.to_number(Nx.reduce_max(Nx.reshape(large, {1}))) == 3_000_000_000
    end

    test "overflow wraps" do
      assert list(Nx.multiply(Nx.tensor([2_147_483_647]), 2)) == [-2]
      assert list(Nx.add(s64([2 ** 63 - 1]), s64([1]))) == [-(2 ** 63)]
      assert list(Nx.negate(s64([-(2 ** 63)]))) == [-(2 ** 63)]
      assert list(Nx.abs(s64([-(2 ** 63)]))) == [-(2 ** 63)]
    end

    test "a shift by the width or more leaves nothing but the sign" do
      assert list(Nx.left_shift(u8([255]), u8([8]))) == [0]
      assert list(Nx.right_shift(u8([255]), u8([9]))) == [0]
      assert list(Nx.right_shift(s64([-5, 5]), s64([64, 64]))) == [-1, 0]
      assert list(Nx.right_shift(Nx.tensor([2 ** 63], type: :u64), 63)) == [1]
    end

    test "floats are rounded half away from zero" do
      assert list(Nx.round(Nx.tensor([0.5, 1.5, 2.5, -0.5, -2.5]))) == [1.0, 2.0, 3.0, -1.0, -3.0]
    end
  end

  describe "narrow floats" do
    test "sums don't stall" do
      assert Nx.to_number(Nx.sum(Nx.broadcast(Nx.tensor(1, type: :f16), {4096}))) == 4096.0
      assert Nx.to_number(Nx.sum(Nx.broadcast(Nx.tensor(1, type: :bf16), {70_000}))) == 70_144.0
      ones = Nx.broadcast(Nx.tensor(1, type: :bf16), {700, 2})
      assert list(Nx.sum(ones, axes: [0])) == [700.0, 700.0]
    end

    test "conversion rounds to the nearest, half to even" do
      assert list(Nx.as_type(Nx.tensor([257.0, 259.0, 261.0]), :bf16)) == [256.0, 260.0, 260.0]

      assert list(Nx.as_type(Nx.tensor([2049.0, 2051.0, 70_000.0]), :f16)) == [
               2048.0,
               2052.0,
               :infinity
             ]
    end
  end

  describe "indices" do
    test "a slice past the end begins earlier" do
      six = Nx.iota({6})
      assert list(Nx.slice(six, [Nx.tensor(4)], [4])) == [2, 3, 4, 5]
      assert list(Nx.slice(six, [4], [4])) == [2, 3, 4, 5]
      assert list(Nx.slice(six, [Nx.tensor(-3)], [2])) == [0, 1]
      assert list(Nx.put_slice(Nx.iota({5}), [4], Nx.tensor([90, 91]))) == [0, 1, 2, 90, 91]

      assert list(Nx.put_slice(Nx.iota({5}), [Nx.tensor(4)], Nx.tensor([90, 91]))) == [
               0,
               1,
               2,
               90,
               91
             ]
    end
  end

  test "heads of one column are right in every row" do
    x = Nx.divide(Nx.iota({8, 4}), 32)
    hidden = Nx.max(Nx.dot(x, Nx.broadcast(0.1, {4, 8})), 0)
    output = Nx.tanh(Nx.dot(hidden, Nx.broadcast(0.5, {8, 1})))

    expected = [
      0.0748597,
      0.2682712,
      0.4422303,
      0.5882593,
      0.7039056,
      0.7913375,
      0.8551470,
      0.9005270
    ]

    for {given, expected} <- Enum.zip(Nx.to_flat_list(output), expected),
        do: assert_in_delta(given, expected, 1.0e-5)
  end

  test "empty tensors are refused" do
    assert_raise ArgumentError, fn -> Nx.from_binary(<<>>, :f32) end
    assert_raise ArgumentError, fn -> Nx.broadcast(1.0, {0}) end
    assert_raise ArgumentError, fn -> Nx.tensor([]) end
  end

  describe "processes" do
    test "a tensor outlives the process that made it" do
      tensor = Task.await(Task.async(fn -> Nx.multiply(Nx.iota({4}), 2) end))
      :erlang.garbage_collect()
      assert list(Nx.add(tensor, 1)) == [1, 3, 5, 7]
    end

    test "errors in several processes leave the next operation right" do
      failing = fn _ ->
        assert {:error, {"add", given, _}} = Nif.eval_dirty({:binary, :add}, [], :f32, :cpu)
        assert given == "0 operands"
        Nx.to_number(Nx.sum(Nx.iota({100})))
      end

      assert 1..8 |> Task.async_stream(failing) |> Enum.to_list() ==
               List.duplicate({:ok, 4950}, 8)
    end

    test "an error names the operation, what was given and what was expected" do
      closed = Nx.iota({3})
      Nx.backend_deallocate(closed)
      error = assert_raise ExBurn.Error, fn -> Nx.add(closed, 1) end
      assert error.op == "add"
      assert Exception.message(error) =~ "deallocated"
      assert list(Nx.add(Nx.iota({3}), 1)) == [1, 2, 3]
    end

    test "long work is refused by the normal schedulers" do
      {:ok, matrix} = Nif.eval_dirty({:iota, %{shape: [512, 512], axis: nil}}, [], :f32, :cpu)
      rows = %{kind: :sum, axes: [1], keep_axes: false}
      contract = %{contract_left: [1], batch_left: [], contract_right: [0], batch_right: []}

      for {op, operands} <- [
            {{:unary, :exp}, [matrix]},
            {{:reduce, rows}, [matrix]},
            {{:sort, %{axis: 0, descending: false}}, [matrix]},
            {{:dot, contract}, [matrix, matrix]}
          ] do
        assert Nif.eval(op, operands, :f32, :cpu) == :dirty
      end

      assert Nif.to_binary(matrix, nil) == :dirty
      assert Nif.from_binary(:binary.copy(<<0>>, @mebibyte), :u8, [@mebibyte], :cpu) == :dirty
    end

    # Says something of the machine too: only for one that has nothing else to do.
    @tag :timing
    test "long work leaves the schedulers to others" do
      matrix = Nx.divide(Nx.iota({2048, 2048}), 2048)
      work = Task.async_stream(1..50, fn _ -> Nx.dot(matrix, matrix) end, timeout: :infinity)
      ticks = Task.async(fn -> ticks([]) end)
      Stream.run(work)
      send(ticks.pid, :stop)
      late = ticks |> Task.await() |> Enum.sort()
      assert Enum.at(late, floor(length(late) * 0.99)) < 10_000
    end
  end

  # Microseconds that each tick of a millisecond took.
  defp ticks(took) do
    start = System.monotonic_time(:microsecond)

    receive do
      :stop -> took
    after
      1 -> ticks([System.monotonic_time(:microsecond) - start | took])
    end
  end

  describe "memory" do
    defp collected do
      :erlang.garbage_collect()
      Nif.memory_used()
    end

    # The collector sees references alone; 64 MiB hang on each.
    test "dropped tensors are freed while their process lives on" do
      elements = 16 * @mebibyte
      binary = :binary.copy(<<1::32-native>>, elements)

      for make <- [fn -> Nx.iota({elements}) end, fn -> Nx.from_binary(binary, :s32) end] do
        before = collected()

        peak =
          Enum.reduce(1..40, 0, fn _, peak ->
            make.()
            max(peak, Nif.memory_used() - before)
          end)

        assert peak < 10 * 64 * @mebibyte
      end
    end

    test "binaries read from a tensor are freed" do
      tensor = Nx.iota({16 * @mebibyte})
      for _ <- 1..40, do: assert(byte_size(Nx.to_binary(tensor)) == 64 * @mebibyte)
      assert :erlang.memory(:binary) < 10 * 64 * @mebibyte
    end

    test "a deallocated tensor is freed at once" do
      before = collected()
      tensor = Nx.iota({@mebibyte})
      # Small tensors of processes that ended may go in between.
      assert Nif.memory_used() - before > 3 * @mebibyte
      assert Nx.backend_deallocate(tensor) == :ok
      assert Nif.memory_used() - before < @mebibyte
      assert Nx.backend_deallocate(tensor) == :already_deallocated
    end

    test "what a process held is freed with it" do
      before = collected()
      test = self()

      {owner, monitor} =
        spawn_monitor(fn ->
          tensors = for _ <- 1..4, do: Nx.iota({@mebibyte})
          send(test, :made)
          receive do: (:stop -> tensors)
        end)

      assert_receive :made, 5000
      assert Nif.memory_used() - before > 15 * @mebibyte
      Process.exit(owner, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^owner, :killed}
      assert eventually(fn -> Nif.memory_used() - before < 4 * @mebibyte end)
    end
  end

  # Resources are let go of shortly after their process.
  defp eventually(condition, attempts \\ 100) do
    cond do
      condition.() -> true
      attempts == 0 -> false
      true -> Process.sleep(10) && eventually(condition, attempts - 1)
    end
  end

  # In a node of its own: a module that failed to load would break the other tests.
  test "loading the library again changes nothing" do
    code = """
    {:ok, _} = Application.ensure_all_started(:nx)
    Logger.configure(level: :none)
    Nx.default_backend(ExBurn.Backend)
    tensor = Nx.tensor([1, 2])
    {:error, :on_load_failure} = :code.load_file(ExBurn.Nif)
    {:error, :on_load_failure} = :code.load_file(ExBurn.Nif)
    IO.inspect({Nx.to_list(tensor), Nx.to_list(Nx.add(tensor, 1))})
    """

    paths = Enum.flat_map(:code.get_path(), &["-pa", List.to_string(&1)])
    elixir = System.find_executable("elixir")
    assert System.cmd(elixir, paths ++ ["-e", code]) == {"{[1, 2], [2, 3]}\n", 0}
  end

  describe "next to other backends and compilers" do
    test "tensors of both backends meet in one operation" do
      ours = Nx.iota({3})
      theirs = Nx.iota({3}, backend: Nx.BinaryBackend)

      for {left, right} <- [{ours, theirs}, {theirs, ours}] do
        assert_same(Nx.add(left, right), Nx.multiply(theirs, 2))
        assert Nx.to_number(Nx.dot(left, right)) == 5
        assert list(Nx.concatenate([left, right])) == [0, 1, 2, 0, 1, 2]
        assert list(Nx.select(Nx.greater(left, 0), left, right)) == [0, 1, 2]
      end
    end

    test "vectorized tensors" do
      rows = Nx.iota({3, 4}, backend: Nx.BinaryBackend)
      compare(&(&1 |> Nx.vectorize(:rows) |> Nx.sum()), [rows])
      compare(&(&1 |> Nx.vectorize(:rows) |> Nx.add(Nx.vectorize(Nx.iota({2}), :other))), [rows])
      compare(&(&1 |> Nx.vectorize(:rows) |> Nx.dot(Nx.iota({4}))), [rows])
      compare(&(&1 |> Nx.vectorize(:rows) |> Nx.sort() |> Nx.devectorize()), [rows])
    end

    defp layers(x, {weights, bias, head}) do
      x |> Nx.dot(weights) |> Nx.add(bias) |> Nx.tanh() |> Nx.dot(head)
    end

    defp loss(parameters, x, y), do: Nx.mean(Nx.pow(Nx.subtract(layers(x, parameters), y), 2))

    defp perceptron do
      spread = fn shape ->
        shape
        |> Nx.iota(type: :f32, backend: Nx.BinaryBackend)
        |> Nx.multiply(7)
        |> Nx.remainder(5)
        |> Nx.subtract(2)
        |> Nx.divide(4)
      end

      {{spread.({3, 8}), spread.({8}), spread.({8, 2})}, spread.({6, 3}), spread.({6, 2})}
    end

    test "a compiled network is the same as an evaluated one" do
      {parameters, x, _y} = perceptron()
      expected = Nx.Defn.jit(&layers/2).(x, parameters)
      given = Nx.Defn.jit(&layers/2, compiler: ExBurn.Defn.Compiler).(x, parameters)
      assert_same(given, expected, ulps: 8, scale: 1.0)
    end

    test "its gradients too" do
      {parameters, x, y} = perceptron()
      gradients = fn parameters, x, y -> Nx.Defn.grad(parameters, &loss(&1, x, y)) end
      on = fn options -> Nx.Defn.jit(gradients, options).(parameters, x, y) end
      expected = on.(compiler: Nx.Defn.Evaluator)
      assert_same(on.(compiler: ExBurn.Defn.Compiler), expected, ulps: 16, scale: 1.0)

      eager = &Nx.Defn.jit(gradients, compiler: Nx.Defn.Evaluator).({&1, &2, &3}, &4, &5)
      compare(eager, Tuple.to_list(parameters) ++ [x, y], ulps: 16, scale: 1.0)
    end

    test "a serving answers each caller with its rows" do
      serving =
        Nx.Serving.new(fn options -> Nx.Defn.jit(&Nx.multiply(&1, 2), options) end,
          compiler: ExBurn.Defn.Compiler
        )

      start_supervised!(
        {Nx.Serving, serving: serving, name: __MODULE__.Serving, batch_size: 4, batch_timeout: 10}
      )

      answers =
        1..8
        |> Task.async_stream(fn caller ->
          batch = Nx.Batch.stack(List.duplicate(Nx.tensor([caller]), rem(caller, 3) + 1))
          {caller, list(Nx.Serving.batched_run(__MODULE__.Serving, batch))}
        end)

      for {:ok, {caller, answer}} <- answers do
        assert answer == List.duplicate([2 * caller], rem(caller, 3) + 1)
      end
    end
  end
end
