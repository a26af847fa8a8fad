# The installed-from-artifact path, end to end, on loopback: a new Mix app depends on the unpacked
# Hex package and gets the library from a server that may misbehave, with no Rust on the PATH.
#
#     EXBURN_PACKAGE=unpacked-package EXBURN_ARTIFACTS=dist \
#       elixir -r test/support/http_server.ex test/dist/install.exs
#
# With EXBURN_AARCH64_ROOT, a folder with a Linux system for AArch64 and its Erlang, the artifact for
# AArch64 is tested too; guides/09_packaging.md tells how to get one.

defmodule Install do
  @moduledoc "An app that depends on the package, in a folder of its own."

  import ExUnit.Assertions

  @rust ~w(cargo rustc rustup cross cargo-zigbuild)

  def package, do: System.fetch_env!("EXBURN_PACKAGE")
  def artifacts, do: System.fetch_env!("EXBURN_ARTIFACTS")
  def checksum_file, do: "checksum-Elixir.ExBurn.Nif.exs"

  @doc "An app with every dependency compiled but ExBurn."
  def template(folder) do
    app = Path.join(folder, "app")
    File.mkdir_p!(Path.join(app, "lib"))
    copy(package(), Path.join(folder, "ex_burn"))

    File.cp!(
      Path.join(artifacts(), checksum_file()),
      Path.join([folder, "ex_burn", checksum_file()])
    )

    File.write!(Path.join(app, "mix.exs"), mix_file())

    # Without ExBurn itself, whose compilation is what the tests are about.
    compiled = for app <- packages(), app not in [:rustler, :ex_burn], do: to_string(app)
    {output, status} = mix(%{app: app, env: %{}}, ["deps.compile" | compiled])
    assert status == 0, output

    # With absolute paths in it, by which a copy would delete what was compiled here.
    manifests = Path.join(app, "_build/prod/lib/*/.mix/compile.erlang")
    manifests |> Path.wildcard(match_dot: true) |> Enum.each(&File.rm!/1)

    folder
  end

  # The packages come from where ExBurn itself takes them.
  defp mix_file do
    """
    defmodule App.MixProject do
      use Mix.Project

      def project, do: [app: :app, version: "0.1.0", lockfile: "_build/mix.lock", deps: deps()]

      defp deps do
        [{:ex_burn, path: "../ex_burn"}] ++
          for app <- #{inspect(packages())} do
            {app, path: Path.join(#{inspect(packages_folder())}, to_string(app)), override: true}
          end
      end
    end
    """
  end

  defp packages_folder, do: System.get_env("EXBURN_DEPS_PATH") || Path.expand("deps")

  defp packages do
    unused = [:axon, :polaris, :stream_data, :rustler]
    apps = packages_folder() |> File.ls!() |> Enum.map(&String.to_atom/1)

    for app <- apps,
        app not in unused,
        File.exists?("#{packages_folder()}/#{app}/mix.exs"),
        do: app
  end

  @doc "Adds Rustler to the app, and Rust to its PATH."
  def with_rust(install) do
    file = Path.join(install.app, "mix.exs")

    File.write!(
      file,
      file
      |> File.read!()
      |> String.replace(":rustler_precompiled", ":rustler, :rustler_precompiled")
    )

    put_in(install.env["PATH"], System.get_env("PATH"))
  end

  @doc "A copy of the template with its own cache, which asks that server."
  def new(template, folder, server) do
    File.mkdir_p!(folder)
    for part <- ["app", "ex_burn"], do: copy(Path.join(template, part), Path.join(folder, part))

    %{
      app: Path.join(folder, "app"),
      package: Path.join(folder, "ex_burn"),
      cache: Path.join(folder, "cache"),
      env: %{
        "EXBURN_BASE_URL" => ExBurn.HttpServer.url(server) <> "/v1",
        "RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH" => Path.join(folder, "cache"),
        "EXBURN_VARIANT" => "cpu",
        "EXBURN_TIMEOUT" => "1"
      }
    }
  end

  defp copy(from, to), do: {_output, 0} = System.cmd("cp", ["-a", from, to])

  def compile(install, env \\ %{}) do
    mix(%{install | env: Map.merge(install.env, env)}, ["deps.compile", "ex_burn", "--force"])
  end

  @doc "What `ExBurn.smoke_test/0` answers in the app."
  def smoke_test(install, env \\ %{}) do
    install = %{install | env: Map.merge(install.env, env)}
    {output, _status} = mix(install, ["run", "-e", "IO.inspect(ExBurn.smoke_test())"])
    output |> String.trim() |> String.split("\n") |> List.last()
  end

  def mix(install, arguments), do: run(install, ["mix" | arguments])

  @doc "Runs a command in the app, without Rust unless its environment has a PATH."
  def run(%{app: app, env: env}, [command | arguments]) do
    defaults = %{
      "PATH" => path_without_rust(),
      "MIX_ENV" => "prod",
      "EXBURN_BUILD" => nil,
      "http_proxy" => nil,
      "HEX_OFFLINE" => "1"
    }

    System.cmd(command, arguments, cd: app, env: Map.merge(defaults, env), stderr_to_stdout: true)
  end

  @doc """
  The VM of the Erlang in `root`, without its launcher, which an emulator doesn't follow, and what
  it computes in the app.
  """
  def vm(install, root \\ to_string(:code.root_dir())) do
    [emulator] = Path.wildcard("#{root}/erts-*/bin/beam.smp")
    elixir = Path.dirname(to_string(:code.lib_dir(:elixir)))
    libraries = [Path.join(install.app, "_build/prod/lib"), elixir]
    paths = Enum.flat_map(libraries, &Path.wildcard("#{&1}/*/ebin"))

    # The programs that the VM starts are this machine's own.
    folders = ["-root", root, "-bindir", System.fetch_env!("BINDIR")]

    # The emulator doesn't know the second mapping that the JIT compiler writes through.
    [emulator, "-JMsingle", "true", "--"] ++
      folders ++
      ["-progname", "erl", "--", "-home", "/", "--", "-noshell"] ++
      Enum.flat_map(paths, &["-pa", &1]) ++
      ["-s", "elixir", "start_cli", "-extra", Path.expand("compute.exs", __DIR__)]
  end

  # Where Rust shares a folder with other programs, those are linked to from another one.
  defp path_without_rust do
    System.get_env("PATH")
    |> String.split(":", trim: true)
    |> Enum.map_join(":", fn folder ->
      if Enum.any?(@rust, &File.exists?(Path.join(folder, &1))), do: mirror(folder), else: folder
    end)
  end

  defp mirror(folder) do
    mirror = Path.join([System.tmp_dir!(), "ex_burn-without-rust", folder])
    File.mkdir_p!(mirror)

    for program <- File.ls!(folder), program not in @rust do
      File.ln_s(Path.join(folder, program), Path.join(mirror, program))
    end

    mirror
  end
end

# What takes minutes, and what takes a program that isn't there.
missing =
  for {tag, program} <- [source: "cargo", x86_64: "qemu-x86_64", aarch64: "qemu-aarch64"],
      !System.find_executable(program),
      do: tag

slow = if System.get_env("QUICK", "") == "", do: [], else: [:source]
foreign = if System.get_env("EXBURN_AARCH64_ROOT", "") == "", do: [:aarch64], else: []
ExUnit.start(timeout: 3_600_000, exclude: missing ++ slow ++ foreign)

defmodule InstallTest do
  use ExUnit.Case, async: false

  alias ExBurn.HttpServer

  setup_all do
    folder = temporary_folder()
    [machine | _system] = String.split(to_string(:erlang.system_info(:system_architecture)), "-")
    Map.put(artifact(machine), :template, Install.template(folder))
  end

  defp artifact(machine) do
    [file] = Path.wildcard(Path.join(Install.artifacts(), "*-#{machine}-*-gnu.so.tar.gz"))
    %{name: Path.basename(file), bytes: File.read!(file)}
  end

  setup %{template: template, bytes: bytes} do
    folder = temporary_folder()
    server = start_supervised!({HttpServer, serve(bytes)})
    %{server: server, folder: folder, install: Install.new(template, folder, server)}
  end

  defp temporary_folder do
    folder =
      Path.join(
        System.tmp_dir!(),
        "ex_burn-#{System.pid()}-#{System.unique_integer([:positive])}"
      )

    on_exit(fn -> File.rm_rf!(folder) end)
    folder
  end

  defp serve(bytes), do: fn _path, _count -> {:ok, bytes} end

  defp assert_works(install, env \\ %{}) do
    {output, status} = Install.compile(install, env)
    assert status == 0, output
    assert Install.smoke_test(install, env) == ":ok"
  end

  # Refused with those words, and with nothing that could be loaded.
  defp assert_refused(install, texts, env \\ %{}) do
    {output, status} = Install.compile(install, env)
    assert status != 0, output
    for text <- List.wrap(texts), do: assert(output =~ text)
    assert output =~ "EXBURN_BUILD=1"
    assert Path.wildcard("#{install.package}/priv/native/*") == []
    output
  end

  test "the library is downloaded, verified, loaded and computes, without Rust", context do
    for program <- ["cargo", "rustc"] do
      assert {"", _not_found} =
               Install.run(context.install, ["sh", "-c", "command -v #{program}"])
    end

    assert_works(context.install)
    assert [{path, _headers}] = HttpServer.requests(context.server)
    assert path == "/v1/" <> context.name
  end

  test "a second app is served from the cache within 10 seconds, with no server", context do
    first = context.install
    {_output, 0} = Install.mix(first, ["deps.compile", "ex_burn"])
    second = Install.new(context.template, Path.join(context.folder, "second"), context.server)
    stop_supervised!(HttpServer)

    {microseconds, _result} =
      :timer.tc(fn ->
        assert_works(second, Map.take(first.env, ["RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH"]))
      end)

    seconds = microseconds / 1_000_000
    IO.puts("install to smoke test from a warm cache: #{Float.round(seconds, 1)} s")
    assert seconds < 10
  end

  test "a flipped byte is refused, and not kept", %{install: install, bytes: bytes} = context do
    middle = div(byte_size(bytes), 2)
    <<head::binary-size(^middle), byte, rest::binary>> = bytes

    HttpServer.handle(
      context.server,
      serve(<<head::binary, Bitwise.bxor(byte, 1), rest::binary>>)
    )

    assert_refused(install, ["its checksum is", "was changed on its way"])
    assert Path.wildcard("#{install.cache}/*.tar.gz*") == []

    HttpServer.handle(context.server, serve(bytes))
    assert_works(install)
  end

  test "a damaged file in the cache is replaced", %{install: install} = context do
    File.mkdir_p!(install.cache)
    File.write!(Path.join(install.cache, context.name), binary_part(context.bytes, 0, 1000))
    assert_works(install)
  end

  test "a checksum file without the entry", %{install: install} = context do
    File.write!(Path.join(install.package, Install.checksum_file()), "%{}\n")
    assert_refused(install, [context.name, "checksum file of ExBurn", "doesn't list it"])
    assert HttpServer.requests(context.server) == []
  end

  test "a file that the server hasn't", %{install: install} = context do
    HttpServer.handle(context.server, fn _path, _count -> {:status, 404} end)
    assert_refused(install, [context.name, "status 404", HttpServer.url(context.server)])
    assert length(HttpServer.requests(context.server)) == 1
  end

  test "a connection that is cut once", %{install: install, bytes: bytes} = context do
    HttpServer.handle(context.server, fn _path, count ->
      if count == 1, do: {:cut, bytes}, else: {:ok, bytes}
    end)

    assert_works(install)
  end

  test "a connection that is always cut", %{install: install, bytes: bytes} = context do
    HttpServer.handle(context.server, fn _path, _count -> {:cut, bytes} end)
    assert_refused(install, ["cut after", "tried 3 times"])
  end

  test "a server that is silent", %{install: install} = context do
    HttpServer.handle(context.server, fn _path, _count -> :stall end)
    assert_refused(install, ["silent for 1 seconds", "tried 3 times"])
  end

  test "a server that isn't there", %{install: install} do
    stop_supervised!(HttpServer)
    assert_refused(install, ["can't be reached"])
  end

  test "a cache that can't be written", %{install: install} do
    File.mkdir_p!(install.cache)
    File.chmod!(install.cache, 0o555)

    # Root may write anywhere, unless that right is taken away.
    wrapper =
      if System.cmd("id", ["-u"]) == {"0\n", 0},
        do: ["setpriv", "--bounding-set", "-dac_override"],
        else: []

    {output, status} = Install.run(install, wrapper ++ ["mix", "deps.compile", "ex_burn"])
    assert status != 0
    assert output =~ "can't be written to #{install.cache}: permission denied"
    File.chmod!(install.cache, 0o755)
  end

  test "a variant that the target hasn't", %{install: install} do
    assert_refused(install, "has no variant metal, only cpu", %{"EXBURN_VARIANT" => "metal"})
  end

  test "a target that there is nothing for", %{install: install} do
    env = %{
      "TARGET_ARCH" => "x86_64",
      "TARGET_VENDOR" => "conda",
      "TARGET_OS" => "linux",
      "TARGET_ABI" => "gnu"
    }

    assert_refused(install, ["conda", "TARGET_VENDOR"], env)
  end

  @aarch64 %{"TARGET_ARCH" => "aarch64", "TARGET_OS" => "linux", "TARGET_ABI" => "gnu"}

  # The compiler must not load what is for another machine.
  test "a cross build takes the other machine's library", %{install: install} = context do
    name = String.replace(context.name, ~r/(?<=nif-2.15-)[^-]+/, "aarch64")
    inner = String.trim_trailing(name, ".tar.gz")
    tarball = Path.join(context.folder, name)
    :ok = :erl_tar.create(tarball, [{to_charlist(inner), "a library for AArch64"}], [:compressed])
    bytes = File.read!(tarball)
    checksum = Base.encode16(:crypto.hash(:sha256, bytes), case: :lower)

    File.write!(
      Path.join(install.package, Install.checksum_file()),
      inspect(%{name => "sha256:" <> checksum})
    )

    HttpServer.handle(context.server, serve(bytes))

    {output, status} = Install.compile(install, @aarch64)
    assert status == 0, output
    refute output =~ "on_load"
    assert [library] = Path.wildcard("#{install.package}/priv/native/*")
    assert File.read!(library) == "a library for AArch64"
  end

  test "EXBURN_BUILD=0, false and empty mean a download", %{install: install} do
    for value <- ["0", "false", ""] do
      {output, status} = Install.compile(install, %{"EXBURN_BUILD" => value})
      assert status == 0, output
    end
  end

  # Of 2008, so without AVX: an instruction that the library doesn't choose at run time ends the VM.
  @tag :x86_64
  test "it computes on an old CPU", %{install: install} do
    assert_works(install)
    assert_computes(install, ["qemu-x86_64", "-cpu", "Nehalem" | Install.vm(install)])
  end

  @tag :aarch64
  test "it computes on AArch64", %{install: install} = context do
    artifact = artifact("aarch64")
    HttpServer.handle(context.server, serve(artifact.bytes))
    {output, status} = Install.compile(install, @aarch64)
    assert status == 0, output

    root = System.fetch_env!("EXBURN_AARCH64_ROOT")
    erlang = Path.join(root, "usr/lib/erlang")
    assert_computes(install, ["qemu-aarch64", "-L", root | Install.vm(install, erlang)])
  end

  defp assert_computes(install, command) do
    {output, status} = Install.run(install, command)
    assert status == 0, output
    assert [_all, machine, before, later] = Regex.run(~r/(\S+): loss (\S+) -> (\S+)/, output)
    assert String.to_float(later) < 0.01 * String.to_float(before)
    IO.puts("computes on #{machine}: loss #{before} -> #{later}")
  end

  @tag :source
  test "EXBURN_BUILD=1 builds from source, also to be linked into a VM",
       %{install: install} = context do
    install = put_in(install.env["EXBURN_BUILD"], "1")
    {output, status} = Install.compile(install)
    assert status != 0
    assert output =~ "Rustler dependency is needed"

    install = Install.with_rust(install)
    {output, status} = Install.mix(install, ["deps.compile", "rustler", "ex_burn", "--force"])
    assert status == 0, output
    assert Install.smoke_test(install) == ":ok"
    assert HttpServer.requests(context.server) == []

    if :os.type() == {:unix, :linux}, do: assert_links_statically(install)
  end

  defp assert_links_statically(install) do
    cargo = ~w(cargo rustc --release --package ex_burn_nif --lib --crate-type staticlib)
    {output, status} = Install.run(%{install | app: install.package}, cargo)
    assert status == 0, output

    library = Path.join(System.fetch_env!("CARGO_TARGET_DIR"), "release/libex_burn_nif.a")
    source = Path.expand("static_nif.c", __DIR__)

    # The `enif_` functions are the VM's own.
    options = ~w(-lm -ldl -lpthread -lgcc_s -Wl,--unresolved-symbols=ignore-all)
    program = Path.join(install.app, "app-with-nif")
    link = ["cc", "-o", program, source, library] ++ options
    {output, status} = Install.run(install, link)
    assert status == 0, output
    assert {"", 0} = Install.run(install, [program])
  end

  test "empty proxy variables are none", %{install: install} do
    env = Map.new(~w(http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy NO_PROXY), &{&1, ""})
    assert_works(install, env)
  end

  test "a proxy gets its credentials unescaped", %{install: install} = context do
    proxy = String.replace(HttpServer.url(context.server), "//", "//u:p%40ss@")
    env = %{"http_proxy" => proxy, "EXBURN_BASE_URL" => "http://mirror.invalid/v1"}
    assert_works(install, env)
    assert [{"http://mirror.invalid/v1/" <> _name, headers}] = HttpServer.requests(context.server)
    assert headers["proxy-authorization"] == "Basic dTpwQHNz"
  end

  test "the Hex package holds what a user needs, and no more" do
    files =
      for file <- Path.wildcard(Install.package() <> "/**", match_dot: true),
          File.regular?(file),
          do: Path.relative_to(file, Install.package())

    assert Enum.sum_by(files, &File.stat!(Path.join(Install.package(), &1)).size) < 8_000_000

    for needed <-
          ~w(mix.exs Cargo.toml Cargo.lock .cargo/config.toml native/targets.toml lib/ex_burn/nif.ex
             native/ex_burn_engine/src/lib.rs native/ex_burn_nif/src/lib.rs priv/data/digits.csv.gz
             guides/09_packaging.md LICENSE) ++ [Install.checksum_file()] do
      assert needed in files
    end

    unwanted =
      ~r"(^|/)(target|_build|deps|test|dist|bench|examples|scripts)/|\.(so|dll|a|beam|tar\.gz)$"

    assert Enum.filter(files, &(&1 =~ unwanted)) == []
  end

  test "mix ex_burn.fetch and mix ex_burn.doctor", %{install: install} = context do
    assert_works(install)
    {output, status} = Install.mix(install, ["ex_burn.doctor"])
    assert status == 0, output
    assert output =~ context.name
    assert output =~ "matches the checksum"
    assert output =~ ~r/library +works/

    folder = Path.join(context.folder, "fetched")
    {output, status} = Install.mix(install, ["ex_burn.fetch", "--output", folder])
    assert status == 0, output
    assert File.read!(Path.join(folder, context.name)) == context.bytes

    {output, status} =
      Install.mix(install, ["ex_burn.fetch", "--target", "pdp11", "--output", folder])

    assert status != 0
    assert output =~ "pdp11"
  end
end
