defmodule ExBurn.Defn.Compiler do
  @moduledoc """
  The `Nx.Defn.Compiler` that runs `defn` functions on Burn.

      Nx.Defn.global_default_options(compiler: ExBurn.Defn.Compiler)
      Nx.Defn.jit_apply(&Nx.add/2, [1, 2], compiler: ExBurn.Defn.Compiler)

  Arguments of other backends are copied to the device first, and everything the function makes
  is made there. The graph runs operation by operation.

  ## Options

    * `:device` - as for `ExBurn.Backend` (default: `ExBurn.Device.default/0`)
    * those of `Nx.Defn.Evaluator`
  """

  @behaviour Nx.Defn.Compiler

  alias ExBurn.{Backend, Device}
  alias Nx.Defn.Evaluator

  @impl true
  def __jit__(key, vars, fun, args_list, options) do
    __compile__(key, vars, fun, options).(args_list)
  end

  @impl true
  def __compile__(key, vars, fun, options) do
    {device, options} = Keyword.pop(options, :device)
    backend = {Backend, device: Device.resolve(device || Device.default())}
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
  def __partitions_options__(options), do: Evaluator.__partitions_options__(options)

  @impl true
  def __to_backend__(options) do
    {Backend, device: Device.resolve(options[:device] || Device.default())}
  end
end
