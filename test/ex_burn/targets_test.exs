defmodule ExBurn.TargetsTest do
  @moduledoc """
  Holds all that names a target to `native/targets.toml`.
  """

  use ExUnit.Case, async: true
  @moduletag :capture_log

  alias ExBurn.{Artifact, Nif}

  @root Path.expand("../..", __DIR__)

  setup_all do
    arguments = ~w(run --quiet --release --locked --package ex_burn_dist -- matrix)
    {matrix, 0} = System.cmd("cargo", arguments, cd: @root)
    %{builds: JSON.decode!(matrix)["include"]}
  end

  defp names(artifacts), do: artifacts |> Enum.map(& &1.name) |> Enum.sort()

  test "the CI builds what the loader and mix ex_burn.fetch know", %{builds: builds} do
    assert Enum.sort(for build <- builds, do: build["artifact"]) == names(Artifact.all())

    assert Enum.sort(
             for build <- builds, do: {build["artifact"], build["target"], build["variant"]}
           ) ==
             Enum.sort(
               for artifact <- Artifact.all(),
                   do: {artifact.name, artifact.target, artifact.variant}
             )
  end

  test "RustlerPrecompiled looks for what is built to be loaded", %{builds: builds} do
    options = Nif.Loader.options!(force_build: true, variant: :cpu, base_url: "https://host/v1")

    {:ok, looked_for} =
      RustlerPrecompiled.nifs_from_metadata(%{
        targets: options[:targets],
        base_url: {options[:base_url], []},
        basename: options[:crate],
        nif_versions: options[:nif_versions],
        version: options[:version],
        variants:
          Map.new(options[:variants], fn {target, pairs} -> {target, Keyword.keys(pairs)} end)
      })

    loaded = for build <- builds, build["kind"] == "cdylib", do: build["artifact"]
    assert Enum.sort(for {name, _url} <- looked_for, do: name) == Enum.sort(loaded)
  end

  test "Cross.toml has a container for each target that is built in one", %{builds: builds} do
    text = File.read!(Path.join(@root, "Cross.toml"))
    containers = for [_, target] <- Regex.scan(~r/^\[target\.([\w-]+)\]$/m, text), do: target
    crossed = for %{"cross" => true, "target" => target} <- builds, uniq: true, do: target
    assert Enum.sort(containers) == Enum.sort(crossed)
  end

  test "the checksum file lists nothing else" do
    assert Map.keys(Artifact.checksums()) -- names(Artifact.all()) == []
  end

  test "the musl targets link with the system's C library", %{builds: builds} do
    text = File.read!(Path.join(@root, ".cargo/config.toml"))

    for %{"target" => target} <- builds, target =~ "musl" do
      assert text =~ ~s([target.#{target}]\nrustflags = ["-C", "target-feature=-crt-static"])
    end
  end
end
