defmodule ExBurn.Nif.Loader do
  @moduledoc false
  # Decides where `ExBurn.Nif` takes the library from, while it compiles: which artifact, or a build
  # from source. `RustlerPrecompiled` then loads it.
  #
  # The artifact is put into RustlerPrecompiled's cache beforehand. By itself, it keeps a download
  # that failed its checksum and fails on it ever after, waits for ever for a silent server, and
  # knows neither NO_PROXY nor %-escapes in a proxy's password.

  alias ExBurn.{Artifact, Error}
  alias ExBurn.Artifact.{Table, Variant}
  alias RustlerPrecompiled.Config

  @type config :: [
          force_build: boolean(),
          variant: atom() | String.t(),
          base_url: Artifact.base_url() | nil
        ]

  @type choice :: %{artifact: Artifact.t(), reason: Variant.reason(), cache: Path.t()}

  @doc """
  Whether `EXBURN_BUILD` asks for a build from source.

      iex> for value <- ["1", "true", "0", "false", ""], do: ExBurn.Nif.Loader.build?(value)
      [true, true, false, false, false]
  """
  @spec build?(String.t() | nil) :: boolean()
  def build?(value), do: value not in [nil, "", "0", "false"]

  @doc """
  What the environment and the config ask for. `read` reads a key of an application's config, as
  `Application.get_env/3` does.
  """
  @spec config((atom(), atom(), term() -> term())) :: config()
  def config(read \\ &Application.get_env/3) do
    # RustlerPrecompiled looks at its own config only where it is passed no `:force_build`.
    force_build? =
      build?(System.get_env("EXBURN_BUILD")) or
        read.(:rustler_precompiled, :force_build, [])[:ex_burn] == true or
        read.(:rustler_precompiled, :force_build_all, false) or
        System.get_env("RUSTLER_PRECOMPILED_FORCE_BUILD_ALL") in ["1", "true"]

    [
      force_build: force_build?,
      variant: read.(:ex_burn, :variant, nil),
      base_url: read.(:ex_burn, :base_url, nil)
    ]
  end

  @doc """
  The options of `RustlerPrecompiled`, with the artifact in its cache unless the library is built
  from source.
  """
  @spec options!(config()) :: keyword()
  def options!(config) do
    options = options(config)

    if rustler_precompiled(options).force_build? do
      {variant, _reason} = source_variant!(config)
      [features: Artifact.table().features[variant]] ++ options
    else
      choice = choose!(config)
      provide!(choice, options[:base_url])
      Keyword.replace!(options, :variants, variants(choice.artifact.variant))
    end
  end

  defp options(config) do
    [
      otp_app: :ex_burn,
      crate: "ex_burn_nif",
      version: Artifact.version(),
      base_url: Artifact.base_url(config[:base_url]),
      targets: Table.triples(Artifact.table(), :cdylib),
      nif_versions: Artifact.table().nif_versions,
      variants: variants(nil),
      force_build: config[:force_build]
    ]
  end

  # RustlerPrecompiled asks each variant of the machine's target but the base.
  defp variants(chosen) do
    for %{kind: :cdylib, triple: triple, variants: [_base | others]} <- Artifact.table().targets,
        others != [],
        into: %{} do
      {triple, for(name <- others, do: {String.to_atom(name), fn -> name == chosen end})}
    end
  end

  defp rustler_precompiled(options), do: Config.new([module: ExBurn.Nif] ++ options)

  @doc "The artifact for this machine, and why it is that one."
  @spec choose!(config()) :: choice()
  def choose!(config) do
    with {:ok, machine} <- machine(config),
         {variant, reason} = requested(config) || detected(machine.target.variants),
         {:ok, artifacts} <- Artifact.find(machine.target.triple, variant) do
      artifact = Enum.find(artifacts, &(&1.nif_version == machine.nif_version))
      %{artifact: artifact, reason: reason, cache: machine.cache}
    else
      {:error, message} -> refuse(message)
    end
  end

  # Which target and NIF version this machine takes and where the cache lies are
  # RustlerPrecompiled's to say.
  defp machine(config) do
    options = config |> options() |> Keyword.replace!(:force_build, false)

    with {:ok, metadata} <- RustlerPrecompiled.build_metadata(rustler_precompiled(options)) do
      ["nif", nif_version, triple] = String.split(metadata.target, "-", parts: 3)
      target = Table.target(Artifact.table(), triple)
      cache = Path.dirname(metadata.cached_tar_gz)
      {:ok, %{target: target, nif_version: nif_version, cache: cache}}
    end
  end

  defp requested(config), do: Variant.requested(System.get_env(), config[:variant])

  # A driver of this machine says nothing of the one that a cross build is for.
  defp detected([base | _] = variants) do
    case System.get_env("TARGET_ARCH", "") do
      "" -> Variant.detected(variants, &Variant.installed?/1)
      _cross -> {base, "it is the base, and this is a cross build"}
    end
  end

  # From source, any variant can be had.
  defp source_variant!(config) do
    features = Artifact.table().features

    case {requested(config), machine(config)} do
      {nil, {:ok, machine}} ->
        detected(machine.target.variants)

      {nil, {:error, _no_release}} ->
        {"cpu", "nothing is released for this target"}

      {{variant, _reason} = requested, _machine} when is_map_key(features, variant) ->
        requested

      {{variant, reason}, _machine} ->
        known = features |> Map.keys() |> Enum.join(", ")
        refuse("#{reason} asks for the variant #{variant}, which is none of #{known}")
    end
  end

  defp provide!(%{artifact: artifact, cache: cache}, base_url) do
    with {:error, error} <- Artifact.fetch(artifact, cache, base_url: base_url) do
      refuse("""
      #{error.reason}

        from #{error.details.url}
        to   #{cache}\
      """)
    end
  end

  defp refuse(message) do
    raise Error,
      op: :load,
      reason: """
      there is no library for this machine: #{message}

      What can be done:

        * Build it from source: EXBURN_BUILD=1 mix deps.compile ex_burn --force
          That takes Rust, and {:rustler, "~> 0.38", optional: true} among your dependencies.
        * Take another variant: EXBURN_VARIANT=cpu
        * Name the target, where it is taken for another: TARGET_ARCH, TARGET_VENDOR (unknown on
          Linux), TARGET_OS and TARGET_ABI
        * Download from a mirror: EXBURN_BASE_URL=https://…, or config :ex_burn, base_url: "https://…"
        * Bring the artifact along: RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH=folder, filled by
          mix ex_burn.fetch --output folder on a machine with a network
      """
  end
end
