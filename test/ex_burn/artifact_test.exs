defmodule ExBurn.ArtifactTest do
  use ExUnit.Case, async: true
  doctest ExBurn.Artifact

  alias ExBurn.{Artifact, HttpServer}
  alias ExBurn.Artifact.Table

  @library "a library"

  setup do
    {:ok, [artifact]} = Artifact.find("x86_64-unknown-linux-gnu", "cuda")
    server = start_supervised!({HttpServer, fn _path, _count -> {:ok, @library} end})

    %{
      artifact: %{artifact | checksum: Artifact.checksum(@library)},
      server: server,
      options: [base_url: HttpServer.url(server) <> "/v1", pause: 1]
    }
  end

  @moduletag :tmp_dir

  test "a variant has a suffix, and a pre-release stays whole" do
    table =
      Table.parse("""
      nif_versions = ["2.15", "2.17"]
      [variants]
      cpu = []
      cuda = ["cuda"]
      [[target]]
      triple = "x86_64-unknown-linux-gnu"
      variants = ["cpu", "cuda"]
      kind = "cdylib"
      """)

    names = for artifact <- Artifact.all(table, "0.1.0-rc.1", %{}), do: artifact.name

    assert names == [
             "libex_burn_nif-v0.1.0-rc.1-nif-2.15-x86_64-unknown-linux-gnu.so.tar.gz",
             "libex_burn_nif-v0.1.0-rc.1-nif-2.15-x86_64-unknown-linux-gnu--cuda.so.tar.gz",
             "libex_burn_nif-v0.1.0-rc.1-nif-2.17-x86_64-unknown-linux-gnu.so.tar.gz",
             "libex_burn_nif-v0.1.0-rc.1-nif-2.17-x86_64-unknown-linux-gnu--cuda.so.tar.gz"
           ]
  end

  test "an unknown target is named with those there are" do
    assert {:error, message} = Artifact.find("riscv64gc-unknown-linux-gnu")
    assert message =~ "riscv64gc"
    assert message =~ "aarch64-apple-darwin"
  end

  test "an artifact is fetched once", %{tmp_dir: folder} = context do
    assert {:ok, path} = Artifact.fetch(context.artifact, folder, context.options)
    assert File.read!(path) == @library
    assert Artifact.fetch(context.artifact, folder, context.options) == {:ok, path}
    assert [{asked, _headers}] = HttpServer.requests(context.server)
    assert asked == "/v1/" <> context.artifact.name
    assert File.ls!(folder) == [context.artifact.name]
  end

  test "a damaged file is replaced", %{tmp_dir: folder} = context do
    path = Path.join(folder, context.artifact.name)
    File.write!(path, "half a li")
    assert Artifact.state(context.artifact, path) == :damaged
    assert {:ok, ^path} = Artifact.fetch(context.artifact, folder, context.options)
    assert Artifact.state(context.artifact, path) == :genuine
  end

  test "what doesn't match the checksum is not kept", %{tmp_dir: folder} = context do
    HttpServer.handle(context.server, fn _path, _count -> {:ok, "another library"} end)
    assert {:error, error} = Artifact.fetch(context.artifact, folder, context.options)
    assert error.reason =~ "its checksum is #{Artifact.checksum("another library")}"
    assert error.reason =~ context.artifact.checksum
    assert File.ls!(folder) == []
  end

  test "what isn't in the checksum file isn't even asked for", %{tmp_dir: folder} = context do
    assert {:error, error} =
             Artifact.fetch(%{context.artifact | checksum: nil}, folder, context.options)

    assert error.reason =~ "checksum file"
    assert HttpServer.requests(context.server) == []
  end

  test "a folder that can't be written is named", %{tmp_dir: folder} = context do
    file = Path.join(folder, "file")
    File.write!(file, "")
    assert {:error, error} = Artifact.fetch(context.artifact, file, context.options)
    assert error.reason =~ "it can't be written to #{file}"
  end

  test "a mirror may ask for headers", %{tmp_dir: folder} = context do
    mirror = {context.options[:base_url], [{"x-token", "secret"}]}
    options = Keyword.put(context.options, :base_url, mirror)
    assert {:ok, _path} = Artifact.fetch(context.artifact, folder, options)
    assert [{_path, %{"x-token" => "secret"}}] = HttpServer.requests(context.server)
  end

  test "no password is shown", %{artifact: artifact} do
    shown = Artifact.shown_url(artifact, "https://me:secret@mirror.corp/v1")
    assert shown == "https://mirror.corp/v1/" <> artifact.name
  end
end
