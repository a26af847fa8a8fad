# Computes what `accuracy.py inputs FOLDER` wrote: mix run bench/accuracy/outputs.exs FOLDER

[folder] = System.argv()
Nx.default_backend(ExBurn.Backend)

for input <- Path.wildcard(Path.join(folder, "*.in")) do
  [function, type, "in"] = input |> Path.basename() |> String.split(".")
  function = String.to_existing_atom(function)
  type = String.to_existing_atom(type)

  # Narrow floats come as numbers of f32.
  stored = if type == :f64, do: :f64, else: :f32
  arguments = input |> File.read!() |> Nx.from_binary(stored) |> Nx.as_type(type)
  count = if function in [:pow, :atan2], do: 2, else: 1
  rows = Nx.reshape(arguments, {count, :auto})

  result = apply(Nx, function, for(row <- 0..(count - 1), do: rows[row]))
  File.write!(Path.rootname(input) <> ".out", Nx.to_binary(Nx.as_type(result, stored)))
end
