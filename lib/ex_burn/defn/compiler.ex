defmodule ExBurn.Defn.Compiler do
  @moduledoc """
  The `Nx.Defn.Compiler` that runs a `defn` function as one program of the engine.

      Nx.Defn.global_default_options(compiler: ExBurn.Defn.Compiler)
      Nx.Defn.jit_apply(&Nx.add/2, [1, 2], compiler: ExBurn.Defn.Compiler)

  The function is traced once for each combination of shapes and types, its graph is checked and
  kept by the engine, and a call hands over references and gets references back. `cond` runs one
  branch, `while` loops without coming back to Elixir.

  A function with something that only the caller's process can do, such as a hook, or with an
  operation or a type that the engine doesn't have yet, runs on `ExBurn.Backend` operation by
  operation instead.

  Arguments of other backends are copied to the device first.

  ## Options

    * `:device` - as for `ExBurn.Backend` (default: `ExBurn.Device.default/0`)
    * `:hooks` - as for `Nx.Defn.Evaluator`
  """

  @behaviour Nx.Defn.Compiler

  alias ExBurn.{Backend, Device, Engine}
  alias ExBurn.Defn.{Cache, Lower}
  alias Nx.Defn.{Composite, Evaluator}

  @impl true
  def __jit__(key, vars, fun, args_list, options) do
    __compile__(key, vars, fun, options).(args_list)
  end

  @impl true
  def __compile__(key, vars, fun, options) do
    {device, options} = Keyword.pop(options, :device)
    device = Device.choose(device)

    # Whatever of the options matters to the graph is in the function's own key.
    case Cache.fetch({key, signature(vars), device}, fn -> compile(vars, fun, device) end) do
      {:program, program, sources, template} ->
        fn [args] -> [run(program, sources, template, args, device)] end

      :evaluate ->
        evaluate(key, vars, fun, options, device)
    end
  end

  # What a traced function depends on: the structure of its arguments with their types, shapes,
  # names and vectorized axes.
  defp signature(vars) do
    for var <- vars do
      {signature, :ok} = Composite.traverse(var, :ok, &{%{&1 | data: nil}, &2})
      signature
    end
  end

  defp compile(vars, fun, device) do
    output = fun.(vars)

    case Lower.lower(Composite.traverse(output, &Nx.devectorize/1)) do
      {:ok, graph, sources} ->
        sources = Enum.map(sources, &place(&1, device))
        {:program, Engine.compile(graph), sources, Composite.traverse(output, &Nx.to_template/1)}

      {:unsupported, _what} ->
        :evaluate
    end
  end

  # Tensors of the function itself go to the device once.
  defp place({:tensor, tensor}, device), do: {:tensor, Backend.reference(tensor, device)}
  defp place(argument, _device), do: argument

  defp run(program, sources, template, args, device) do
    args = List.to_tuple(args)

    inputs =
      for source <- sources do
        case source do
          {:argument, position} -> Backend.reference(elem(args, position).(), device)
          {:tensor, reference} -> reference
        end
      end

    outputs = Engine.run(program, inputs, device)

    {result, []} =
      Composite.traverse(template, outputs, fn tensor, [reference | outputs] ->
        {%{tensor | data: %Backend{ref: reference}}, outputs}
      end)

    result
  end

  defp evaluate(key, vars, fun, options, device) do
    backend = {Backend, device: device}
    evaluate = Evaluator.__compile__(key, vars, fun, options)

    fn args_list ->
      args_list = for args <- args_list, do: for(arg <- args, do: on_backend(arg, backend))
      Nx.with_default_backend(backend, fn -> evaluate.(args_list) end)
    end
  end

  defp on_backend(arg, backend) do
    fn ->
      case arg.() do
        %Nx.Tensor{data: %Backend{}} = tensor -> tensor
        tensor -> Nx.backend_copy(tensor, backend)
      end
    end
  end

  @impl true
  def __partitions_options__(options) do
    List.duplicate(options, Keyword.get(options, :max_concurrency, 1))
  end

  @impl true
  def __to_backend__(options) do
    {Backend, device: Device.choose(options[:device])}
  end
end
