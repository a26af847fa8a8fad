# Writes the golden vectors of the engine's tests: for every operation, operands and the result
# that `Nx.BinaryBackend` gives.
#
#     mix run test/golden/generate.exs
#
# Every file of `cases` becomes a file of `native/ex_burn_engine/tests/golden`.

Code.require_file("golden.ex", __DIR__)

Nx.default_backend(Nx.BinaryBackend)
target = Path.expand("../../native/ex_burn_engine/tests/golden", __DIR__)
File.mkdir_p!(target)

for file <- __DIR__ |> Path.join("cases/*.exs") |> Path.wildcard() |> Enum.sort() do
  {cases, _bindings} = Code.eval_file(file)
  path = Path.join(target, Path.basename(file, ".exs") <> ".json")
  Golden.write!(cases, path)
  IO.puts("#{length(cases)} cases in #{Path.relative_to_cwd(path)}")
end
