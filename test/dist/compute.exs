# What an installed library must be able to do: the smoke test and training steps.

{:ok, _apps} = Application.ensure_all_started(:ex_burn)
:ok = ExBurn.smoke_test()
Nx.global_default_backend(ExBurn.Backend)

step = fn weights, x, y ->
  loss = &(Nx.dot(x, &1) |> Nx.subtract(y) |> Nx.pow(2) |> Nx.mean())
  {loss, gradient} = Nx.Defn.value_and_grad(weights, loss)
  {loss, Nx.subtract(weights, Nx.multiply(gradient, 0.5))}
end

step = Nx.Defn.jit(step, compiler: ExBurn.Defn.Compiler)

x = Nx.iota({8, 3}, type: :f32) |> Nx.sin()
y = Nx.dot(x, Nx.tensor([[1.0], [-2.0], [3.0]]))

losses =
  {0, Nx.broadcast(0.0, {3, 1})}
  |> Stream.iterate(fn {_loss, weights} -> step.(weights, x, y) end)
  |> Enum.slice(1..100)
  |> Enum.map(&Nx.to_number(elem(&1, 0)))

machine = :erlang.system_info(:system_architecture)
IO.puts("#{machine}: loss #{hd(losses)} -> #{List.last(losses)}")
