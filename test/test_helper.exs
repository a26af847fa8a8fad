# Doctests print tensors as `Nx.BinaryBackend` does.
Application.put_env(:ex_burn, :add_backend_on_inspect, false)
Nx.global_default_backend(ExBurn.Backend)

ExBurn.Conformance.Coverage.start()

# Those of `:timing` fail on a machine that has other work: `mix test --only timing`.
ExUnit.start(exclude: [:timing])
