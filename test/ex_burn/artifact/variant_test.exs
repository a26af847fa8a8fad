defmodule ExBurn.Artifact.VariantTest do
  use ExUnit.Case, async: true
  doctest ExBurn.Artifact.Variant

  alias ExBurn.Artifact.Variant

  test "the driver of a variant that isn't there is no reason" do
    assert {"vulkan", _reason} = Variant.detected(["cpu", "vulkan"], fn _libraries -> true end)
  end

  test "a library is found by name" do
    refute Variant.installed?(["libno-such-driver.so.1"])

    if :os.type() == {:unix, :linux} do
      assert Variant.installed?(["libc.so.6"])
    end
  end
end
