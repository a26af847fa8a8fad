defmodule ExBurn.TensorTest do
  use ExUnit.Case, async: true
  doctest ExBurn.Tensor
end
