defmodule ExBurn.DoctestTest do
  # The examples set defaults of the whole node.
  use ExUnit.Case, async: false

  doctest ExBurn
  doctest ExBurn.Device
end
