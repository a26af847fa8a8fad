defmodule ExBurn.ErrorTest do
  use ExUnit.Case, async: true

  alias ExBurn.Error

  doctest Error

  test "is raised with its context" do
    error =
      assert_raise Error, "matmul: shape mismatch", fn ->
        raise Error, op: :matmul, reason: "shape mismatch", details: %{lhs: [3, 4]}
      end

    assert error.details == %{lhs: [3, 4]}
  end

  test "is raised with a text alone" do
    assert_raise Error, "no device", fn -> raise Error, "no device" end
  end

  test "refuses an option that it doesn't have" do
    assert_raise KeyError, fn -> Error.new(operation: :add) end
    assert_raise ArgumentError, fn -> Error.from_tuple({:error, "x"}, operation: :add) end
  end

  describe "new/1" do
    test "turns any reason into a text" do
      assert Error.new(reason: :enoent).reason == ":enoent"
      assert Error.new(reason: %RuntimeError{message: "oops"}).reason == "oops"
      assert Error.new([]).reason == "unknown error"
    end
  end

  describe "from_tuple/2" do
    test "the caller's operation goes before the reason's" do
      tuple = {:error, {"reshape", "5 elements", "6 elements"}}
      assert Error.from_tuple(tuple).op == "reshape"
      assert Error.from_tuple(tuple, op: :predict).op == :predict
    end

    test "adds the caller's details to the reason's" do
      error = Error.from_tuple({:error, {"add", "x", "y"}}, details: [node: 3])
      assert error.details == %{given: "x", expected: "y", node: 3}
    end

    test "keeps an error that is one already" do
      error = Error.new(op: :add, reason: "no", details: %{a: 1})
      assert Error.from_tuple({:error, error}) == error
    end

    test "inspects what is neither text nor triple" do
      assert Error.from_tuple({:error, {:closed, 1}}, op: :run).reason == "{:closed, 1}"
      assert Error.from_tuple({:error, {1, 2, 3}}).reason == "{1, 2, 3}"
    end
  end

  test "format/1 doesn't repeat what the message holds" do
    error = Error.from_tuple({:error, {"add", "x", "y"}})
    assert Error.format(error) == "add: given x, expected y"
  end

  test "to_log_string/1 stays on one line whatever the texts hold" do
    error = Error.new(reason: "two\nlines", details: %{"key" => "a\nb", {1, 2} => :c})
    assert Error.to_log_string(error) == ~S(reason="two\nlines" {1, 2}=:c key="a\nb")
  end
end
