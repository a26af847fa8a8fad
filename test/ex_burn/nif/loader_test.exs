defmodule ExBurn.Nif.LoaderTest do
  # The environment belongs to all processes.
  use ExUnit.Case, async: false
  @moduletag :capture_log
  doctest ExBurn.Nif.Loader

  alias ExBurn.Nif.Loader

  @variables ~w(EXBURN_BUILD EXBURN_VARIANT EXBURN_BASE_URL RUSTLER_PRECOMPILED_FORCE_BUILD_ALL
                TARGET_ARCH TARGET_VENDOR TARGET_OS TARGET_ABI)

  setup do
    before = Map.new(@variables, &{&1, System.get_env(&1)})
    System.put_env(Map.new(@variables, &{&1, nil}))
    on_exit(fn -> System.put_env(before) end)
  end

  defp put_target(arch, vendor) do
    System.put_env(%{
      "TARGET_ARCH" => arch,
      "TARGET_VENDOR" => vendor,
      "TARGET_OS" => "linux",
      "TARGET_ABI" => "gnu"
    })
  end

  defp config(options \\ []) do
    Keyword.merge([force_build: false, variant: nil, base_url: nil], options)
  end

  describe "a build from source" do
    test "takes the variable or the config" do
      read = fn
        :rustler_precompiled, :force_build, _default -> [ex_burn: true, other: false]
        _app, _key, default -> default
      end

      assert Loader.config(read)[:force_build]
      refute Loader.config()[:force_build]

      System.put_env("EXBURN_BUILD", "0")
      assert Loader.config(read)[:force_build]
      refute Loader.config()[:force_build]

      System.put_env("EXBURN_BUILD", "1")
      assert Loader.config()[:force_build]
    end

    test "has the features of the variant" do
      options = fn variant -> Loader.options!(config(force_build: true, variant: variant)) end
      assert options.(:cpu)[:features] == []
      assert options.("metal")[:features] == ["metal"]

      assert_raise ExBurn.Error, ~r/variant gpu, which is none of cpu, cuda/, fn ->
        options.(:gpu)
      end
    end

    test "needs no release for the target" do
      put_target("riscv64gc", "unknown")
      assert Loader.options!(config(force_build: true))[:features] == []
    end
  end

  describe "the artifact" do
    test "is that of the target, by name" do
      put_target("aarch64", "unknown")
      choice = Loader.choose!(config())
      assert choice.artifact.target == "aarch64-unknown-linux-gnu"
      assert choice.artifact.variant == "cpu"
      assert choice.reason =~ "cross build"
    end

    test "is of the variant that is asked for" do
      put_target("x86_64", "unknown")
      assert Loader.choose!(config(variant: :vulkan)).artifact.name =~ "linux-gnu--vulkan.so"
      System.put_env("EXBURN_VARIANT", "cuda")
      choice = Loader.choose!(config(variant: :vulkan))
      assert choice.artifact.name =~ "linux-gnu--cuda.so"
      assert choice.reason == "EXBURN_VARIANT"
    end

    test "is refused for a variant that the target hasn't" do
      put_target("x86_64", "unknown")
      error = assert_raise ExBurn.Error, fn -> Loader.choose!(config(variant: :metal)) end

      assert error.reason =~
               "x86_64-unknown-linux-gnu has no variant metal, only cpu, vulkan, cuda"

      assert error.reason =~ "EXBURN_BUILD=1"
    end

    test "is refused for a target that there is none for, with what can be done" do
      put_target("x86_64", "conda")
      error = assert_raise ExBurn.Error, fn -> Loader.choose!(config()) end

      for text <- [
            "x86_64-conda-linux-gnu",
            "aarch64-apple-darwin",
            "TARGET_VENDOR",
            "EXBURN_BASE_URL"
          ] do
        assert error.reason =~ text
      end
    end
  end
end
