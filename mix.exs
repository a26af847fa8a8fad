defmodule ExBurn.MixProject do
  use Mix.Project

  @version "0.7.0"
  @source_url "https://github.com/ex-burn/ex_burn"

  def project do
    [
      app: :ex_burn,
      version: @version,
      elixir: "~> 1.18",
      elixirc_paths: elixirc_paths(Mix.env()),
      start_permanent: Mix.env() == :prod,
      lockfile: lockfile(deps_folder()),
      deps: deps() |> from_folder(deps_folder()),
      aliases: aliases(),
      name: "ExBurn",
      description: "Nx and Axon on the Rust deep-learning framework Burn, on CPU and GPU",
      source_url: @source_url,
      package: package(),
      docs: docs()
    ]
  end

  def application do
    [extra_applications: [:logger], mod: {ExBurn.Application, []}]
  end

  defp elixirc_paths(:test), do: ["lib", "test/support"]
  defp elixirc_paths(_env), do: ["lib"]

  defp deps do
    [
      {:nx, ">= 0.12.0 and < 2.0.0"},
      {:axon, "~> 0.8", optional: true},
      {:rustler, "~> 0.38", optional: true, runtime: false},
      {:rustler_precompiled, "~> 0.8.4"},
      {:stream_data, "~> 1.1", only: [:dev, :test]},
      {:ex_doc, "~> 0.34", only: :dev, runtime: false}
    ]
  end

  # Air-gapped builds: EXBURN_DEPS_PATH names a folder with one sub-folder for
  # each Hex package, and every package found there is taken from it.
  defp deps_folder do
    case System.get_env("EXBURN_DEPS_PATH", "") do
      "" -> nil
      folder -> Path.expand(folder)
    end
  end

  # Mix would drop the Hex checksums of all that comes from the folder.
  defp lockfile(nil), do: "mix.lock"
  defp lockfile(_folder), do: "_build/mix.lock"

  defp from_folder(deps, nil), do: deps

  defp from_folder(deps, folder) do
    found = for file <- Path.wildcard("#{folder}/*/mix.exs"), do: folder_app(file)
    named = for dep <- deps, do: elem(dep, 0)

    direct =
      for {app, _requirement, options} <- Enum.map(deps, &with_options/1),
          app in found or :dev not in List.wrap(options[:only]) do
        {app, options ++ [path: Path.join(folder, "#{app}"), override: true]}
      end

    # `runtime: false`: the packages that need them start them.
    transitive =
      for app <- found -- named do
        {app, path: Path.join(folder, "#{app}"), override: true, runtime: false}
      end

    direct ++ transitive
  end

  defp folder_app(mix_file) do
    mix_file |> Path.dirname() |> Path.basename() |> String.to_atom()
  end

  defp with_options({app, requirement}), do: {app, requirement, []}
  defp with_options({app, requirement, options}), do: {app, requirement, options}

  defp aliases do
    [
      lint: ["format --check-formatted", "compile --warnings-as-errors"]
    ]
  end

  defp package do
    [
      licenses: ["Apache-2.0"],
      links: %{"GitHub" => @source_url, "Burn" => "https://burn.dev"},
      files: [
        "lib",
        "priv/data",
        "guides",
        "native/targets.toml",
        "native/*/Cargo.toml",
        "native/*/src",
        ".cargo/config.toml",
        "Cargo.toml",
        "Cargo.lock",
        "checksum-*.exs",
        "mix.exs",
        ".formatter.exs",
        "README.md",
        "CHANGELOG.md",
        "LICENSE"
      ]
    ]
  end

  defp docs do
    [
      main: "readme",
      source_ref: "v#{@version}",
      extras:
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"] ++
          Path.wildcard("guides/*.md"),
      groups_for_extras: [Guides: ~r"guides/"]
    ]
  end
end
