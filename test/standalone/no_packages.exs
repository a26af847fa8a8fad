# What can be proven of the native library without any package: it loads, computes, trains and
# survives terms that make no sense.
#
#     EXBURN_NIF_PATH=path/to/libex_burn_nif.so elixir test/standalone/no_packages.exs

defmodule ExBurn.Nif do
  # Each function of the library, as in lib/ex_burn/nif.ex; one missing here fails the load.
  functions = [
    version: 0,
    function_count: 0,
    devices: 0,
    memory_used: 0,
    from_binary: 4,
    from_binary_dirty: 4,
    to_binary: 2,
    to_binary_dirty: 2,
    spec: 1,
    device: 1,
    deallocate: 1,
    to_device: 2,
    eval: 4,
    eval_dirty: 4,
    compile: 1,
    run: 3,
    run_dirty: 3,
    value_and_grad: 4
  ]

  for {name, arity} <- functions do
    def unquote(name)(unquote_splicing(Macro.generate_arguments(arity, __MODULE__))) do
      :erlang.nif_error(:nif_not_loaded)
    end
  end

  def functions, do: unquote(functions)

  def load(path), do: path |> Path.rootname() |> String.to_charlist() |> :erlang.load_nif(0)
end

defmodule Standalone do
  alias ExBurn.Nif

  def run do
    IO.puts("The native library without Hex packages")
    step("loads", &loads/0)
    step("runs a program", &runs_a_program/0)
    step("trains", &trains/0)
    step("survives hostile terms", &survives/0)

    IO.puts(
      "NOT RUN here: Nx, Axon, the backend, the compiler and the loader (mix test runs them)"
    )
  end

  defp step(name, check) do
    check.()
    IO.puts("  ok  #{name}")
  end

  defp loads do
    path = System.fetch_env!("EXBURN_NIF_PATH")
    :ok = Nif.load(path)
    true = Nif.function_count() == length(Nif.functions())
    {:ok, devices} = Nif.devices()
    {:cpu, _title} = List.last(devices)
  end

  # exp(x) of [0, 1, 2], times 2.
  defp runs_a_program do
    program =
      compile(
        [spec([3]), spec([])],
        [step_of({:unary, :exp}, [0]), step_of({:binary, :multiply}, [2, 1])],
        [3]
      )

    {:ok, [result]} =
      Nif.run_dirty(program, [floats([0.0, 1.0, 2.0], [3]), floats([2.0], [])], :cpu)

    {:ok, {:f64, [3]}} = Nif.spec(result)
    close!(values(result), Enum.map([0.0, 1.0, 2.0], &(2 * :math.exp(&1))))
  end

  # Least squares on y = 2 a - b: the loss is the mean of (x w - y)², its gradient the closed form
  # 2/n xᵀ (x w - y), and following it finds w.
  defp trains do
    rows = for index <- 0..7, do: [:math.sin(index), :math.cos(3 * index)]
    targets = for [a, b] <- rows, do: 2 * a - b
    x = floats(List.flatten(rows), [8, 2])
    y = floats(targets, [8])

    contract = %{contract_left: [1], batch_left: [], contract_right: [0], batch_right: []}

    program =
      compile(
        [spec([8, 2]), spec([8]), spec([2])],
        [
          step_of({:dot, contract}, [0, 2]),
          step_of({:binary, :subtract}, [3, 1]),
          step_of({:binary, :multiply}, [4, 4]),
          step_of({:reduce, %{kind: :sum, axes: [0], keep_axes: false}}, [5]),
          step_of({:constant, %{value: 0.125, shape: []}}, []),
          step_of({:binary, :multiply}, [6, 7])
        ],
        [8]
      )

    start = [0.5, 0.5]
    {_loss, gradient} = gradient(program, x, y, start)
    residuals = Enum.zip_with(rows, targets, fn [a, b], target -> 0.5 * a + 0.5 * b - target end)

    expected =
      for column <- 0..1 do
        2 / 8 * Enum.sum(Enum.zip_with(rows, residuals, &(Enum.at(&1, column) * &2)))
      end

    close!(gradient, expected)

    trained =
      Enum.reduce(1..200, start, fn _step, weights ->
        {_loss, gradient} = gradient(program, x, y, weights)
        Enum.zip_with(weights, gradient, &(&1 - 0.5 * &2))
      end)

    close!(trained, [2.0, -1.0])
  end

  defp gradient(program, x, y, weights) do
    inputs = [x, y, floats(weights, [2])]
    {:ok, {[loss], [gradient]}} = Nif.value_and_grad(program, inputs, [2], :cpu)
    {values(loss), values(gradient)}
  end

  @terms [
    nil,
    :atom,
    -1,
    1.5,
    0x1_0000_0000_0000_0000,
    <<1, 2, 3>>,
    <<1::3>>,
    [],
    [1 | 2],
    [[:a], %{}],
    {},
    {:binary, :add},
    {:reshape, %{shape: [0xFFFF_FFFF_FFFF_FFFF, 2]}},
    {:iota, %{shape: [0x7FFF_FFFF_FFFF], axis: nil}},
    {:pad, %{padding: [{-1, 0x7FFF_FFFF_FFFF_FFFF, 3}]}},
    %{},
    %{inputs: [], instructions: [%{}], outputs: [0]}
  ]

  defp survives do
    terms = [
      make_ref(),
      self(),
      &Function.identity/1,
      floats([1.0], []),
      [floats([1.0], [])] | @terms
    ]

    for {name, arity} <- Nif.functions(), arity > 0, arguments <- arguments(terms, arity) do
      case apply(Nif, name, arguments) do
        {tag, _} when tag in [:ok, :collect, :error] -> :ok
        :dirty -> :ok
      end
    end

    # And goes on computing.
    {:ok, sum} = Nif.eval({:binary, :add}, [floats([1.0], []), floats([2.0], [])], :f64, :cpu)
    close!(values(sum), [3.0])
  end

  # Every term in every place, the other places filled with a term each.
  defp arguments(terms, arity) do
    for term <- terms, other <- terms, place <- 0..(arity - 1) do
      List.replace_at(List.duplicate(other, arity), place, term)
    end
  end

  defp compile(inputs, instructions, outputs) do
    {:ok, program} =
      Nif.compile(%{inputs: inputs, instructions: instructions, outputs: outputs})

    program
  end

  defp spec(shape), do: %{dtype: :f64, shape: shape}
  defp step_of(op, operands), do: {:apply, %{op: op, operands: operands, dtype: :f64}}

  defp floats(values, shape) do
    {:ok, tensor} =
      Nif.from_binary(for(v <- values, into: <<>>, do: <<v::64-float-native>>), :f64, shape, :cpu)

    tensor
  end

  defp values(tensor) do
    {:ok, binary} = Nif.to_binary(tensor, nil)
    for <<value::64-float-native <- binary>>, do: value
  end

  defp close!(given, expected) do
    true = length(given) == length(expected)

    Enum.zip_with(given, expected, fn given, expected ->
      if abs(given - expected) > 1.0e-6 * max(1.0, abs(expected)) do
        raise "expected #{inspect(expected)}, got #{inspect(given)}"
      end
    end)
  end
end

Standalone.run()
