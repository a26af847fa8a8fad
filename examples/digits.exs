# Trains a classifier on the bundled digits, with Axon on Burn:
#
#     mix run examples/digits.exs

alias ExBurn.Dataset

defmodule Digits do
  @moduledoc false

  @epochs 30
  @batch_size 32

  def run do
    ExBurn.configure!()

    {images, labels} = Dataset.digits()
    images = Dataset.normalize(images, method: :scale, by: 16)
    {{train_x, train_y}, {test_x, test_y}} = Dataset.split({images, labels}, 0.8)
    train_x = Nx.backend_transfer(train_x, ExBurn.Backend)

    batches =
      Dataset.batches({train_x, Dataset.one_hot(train_y, 10)},
        batch_size: @batch_size,
        seed: 1,
        drop_last: true
      )

    model =
      Axon.input("pixels", shape: {nil, 64})
      |> Axon.dense(128, activation: :relu)
      |> Axon.dense(64, activation: :relu)
      |> Axon.dense(10, activation: :softmax)

    steps = Enum.count(batches)
    start = System.monotonic_time(:millisecond)

    state =
      model
      |> Axon.Loop.trainer(
        :categorical_cross_entropy,
        Polaris.Optimizers.adam(learning_rate: 2.0e-3),
        log: 0,
        seed: 1
      )
      |> Axon.Loop.handle_event(:iteration_completed, &progress(&1, steps))
      |> Axon.Loop.run(batches, Axon.ModelState.empty(),
        epochs: @epochs,
        compiler: ExBurn.Defn.Compiler
      )

    seconds = (System.monotonic_time(:millisecond) - start) / 1000

    predicted =
      model
      |> Axon.predict(state, test_x, compiler: ExBurn.Defn.Compiler)
      |> Nx.argmax(axis: 1)

    report(seconds, Nx.to_flat_list(test_y), Nx.to_flat_list(predicted))
  end

  defp progress(state, steps) do
    done = state.epoch * steps + state.iteration + 1
    width = 30
    filled = div(done * width, @epochs * steps)
    bar = String.duplicate("█", filled) <> String.duplicate("░", width - filled)
    loss = state.step_state.loss |> Nx.to_number() |> Float.round(4)
    IO.write("\r#{bar} epoch #{state.epoch + 1}/#{@epochs}  loss #{loss}    ")
    {:continue, state}
  end

  defp report(seconds, labels, predicted) do
    pairs = Enum.frequencies(Enum.zip(labels, predicted))
    right = Enum.sum(for {{same, same}, count} <- pairs, do: count)
    accuracy = right / length(labels)

    IO.puts("""


    Device: #{ExBurn.device_name()}
    Training: #{Float.round(seconds, 1)} s
    Test accuracy: #{:erlang.float_to_binary(accuracy, decimals: 4)} (#{right} of #{length(labels)} images never seen in training)

    #{confusion(pairs)}
    """)
  end

  # A row for each digit, a column for each answer.
  defp confusion(pairs) do
    header = "    " <> Enum.map_join(0..9, &cell/1)

    rows =
      for label <- 0..9 do
        cells = Enum.map_join(0..9, &cell(Map.get(pairs, {label, &1}, ".")))
        " #{label}  #{cells}"
      end

    Enum.join(["Digit (row) and answer (column):", header | rows], "\n")
  end

  defp cell(content), do: content |> to_string() |> String.pad_leading(4)
end

Digits.run()
