defmodule ExBurn.BurnBridgeTest do
  use ExUnit.Case, async: true
  doctest ExBurn.BurnBridge
end
