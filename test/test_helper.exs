# Doctests print tensors as `Nx.BinaryBackend` does.
Application.put_env(:ex_burn, :add_backend_on_inspect, false)
Nx.global_default_backend(ExBurn.Backend)

ExBurn.Conformance.Coverage.start()

# The table of the cases is whole where all of them ran: `make conformance`.
if path = System.get_env("EXBURN_COVERAGE") do
  ExUnit.after_suite(fn
    %{failures: 0} -> File.write!(path, ExBurn.Conformance.Coverage.table())
    _failed -> :ok
  end)
end

# Those of `:timing` fail on a machine that has other work: `mix test --only timing`.
ExUnit.start(exclude: [:timing])
