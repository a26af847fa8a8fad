defmodule Mix.Tasks.ExBurn.Fetch do
  @shortdoc "Downloads and verifies ready-made native libraries"

  @moduledoc """
  Downloads ready-made native libraries and holds them to the checksums of the package.

      mix ex_burn.fetch
      mix ex_burn.fetch --target aarch64-linux-android --output artifacts
      mix ex_burn.fetch --all --output artifacts

  Without options, the one that ExBurn takes on this machine goes into its cache.

  A folder of artifacts serves where there is no network: `RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH`
  names it to the compiler, `EXBURN_BASE_URL` to all machines once it is on a web server.

  ## Options

    * `--target` - the target triple; may be given more than once
    * `--variant` - the variant; may be given more than once (default: the target's base)
    * `--all` - every artifact, or every variant of the targets that are given
    * `--output` - the folder that receives them (default: the cache)
  """

  use Mix.Task

  alias ExBurn.{Artifact, Nif}

  @switches [target: :keep, variant: :keep, all: :boolean, output: :string]

  @impl true
  def run(arguments) do
    {options, []} = OptionParser.parse!(arguments, strict: @switches)
    Mix.Task.run("loadpaths")

    machine = fn -> Nif.Loader.choose!(Nif.Loader.config()) end
    artifacts = artifacts(options, machine)
    folder = Keyword.get_lazy(options, :output, fn -> machine.().cache end)

    for artifact <- artifacts do
      case Artifact.fetch(artifact, folder) do
        {:ok, path} -> Mix.shell().info(path)
        {:error, error} -> Mix.raise(ExBurn.Error.format(error))
      end
    end
  end

  defp artifacts(options, machine) do
    targets = Keyword.get_values(options, :target)
    variants = Keyword.get_values(options, :variant)

    if options[:all] && variants != [], do: Mix.raise("--all and --variant exclude each other")

    case {options[:all] || false, targets, variants} do
      {true, [], []} ->
        Artifact.all()

      {true, targets, []} ->
        Enum.flat_map(targets, &find(&1, :all))

      {false, [], []} ->
        [machine.().artifact]

      {false, [], variants} ->
        Enum.flat_map(variants, &find(machine.().artifact.target, &1))

      {false, targets, []} ->
        Enum.flat_map(targets, &find(&1, nil))

      {false, targets, variants} ->
        for(t <- targets, v <- variants, do: find(t, v)) |> Enum.concat()
    end
  end

  defp find(target, variant) do
    case Artifact.find(target, variant) do
      {:ok, artifacts} -> artifacts
      {:error, message} -> Mix.raise(message)
    end
  end
end
