defmodule ExBurn.Conformance.Case do
  @moduledoc """
  A call whose result on `ExBurn.Backend` is held to a reference: by default the same call on
  `Nx.BinaryBackend` with wide operands, rounded to the type of the result.

    * `:call` - module, function and arguments; operands may stand in lists and tuples
    * `:expected` - instead of the call on `Nx.BinaryBackend`, a function that gives the result: a
      tensor, a list of elements, or a tuple of those
    * `:ulps` - how many units in the last place floats may be apart (default: `0`, the nearest)
    * `:scale` - the least magnitude to take those units at, where larger numbers cancel or the
      reference loses digits (default: `0`)
    * `:zeros` - `:equal` where the reference picks one of two zeros by their order (default:
      `:signed`)
  """

  import ExUnit.Assertions

  alias ExBurn.Conformance.{Number, Operand}
  alias Nx.Tensor, as: T

  @enforce_keys [:call]
  defstruct [:call, :expected, ulps: 0, scale: 0, zeros: :signed]

  @doc "Asserts that the call gives what it should."
  def check(%__MODULE__{} = test) do
    expected = expected(test)
    given = Nx.with_default_backend(ExBurn.Backend, fn -> call(test, &Operand.given/1) end)
    same!(given, expected, test)
  end

  defp expected(%{expected: nil} = test) do
    Nx.with_default_backend(Nx.BinaryBackend, fn -> call(test, &Operand.reference/1) end)
  end

  defp expected(%{expected: expected}) do
    Nx.with_default_backend(Nx.BinaryBackend, expected)
  end

  @doc "Runs the call with every operand replaced."
  def call(%__MODULE__{call: {module, function, arguments}}, replace) do
    apply(module, function, replace_operands(arguments, replace))
  end

  defp replace_operands(%Operand{} = operand, replace), do: replace.(operand)

  defp replace_operands(list, replace) when is_list(list) do
    Enum.map(list, &replace_operands(&1, replace))
  end

  defp replace_operands(tuple, replace) when is_tuple(tuple) do
    tuple |> Tuple.to_list() |> replace_operands(replace) |> List.to_tuple()
  end

  defp replace_operands(other, _replace), do: other

  defp same!(%T{} = given, %T{} = expected, test) do
    assert given.type == expected.type or Operand.wide(given.type) == expected.type
    assert given.shape == expected.shape
    assert given.names == expected.names
    assert given.vectorized_axes == expected.vectorized_axes
    same!(given, elements(expected), test)
  end

  defp same!(%T{type: type} = given, expected, test) when is_list(expected) do
    assert %ExBurn.Backend{} = given.data
    elements = elements(given)
    assert length(elements) == length(expected)
    wrong = expected |> Enum.zip(elements) |> Enum.reject(&near?(&1, type, test))

    if wrong != [] do
      [{wanted, got} | _] = wrong

      flunk("""
      expected #{inspect(wanted)}, got #{inspect(got)} (#{Nx.Type.to_string(type)}) in
      #{inspect(elements, charlists: :as_lists)}
      where it should be, #{test.ulps} ulps of #{test.scale} and above aside,
      #{inspect(expected, charlists: :as_lists)}
      """)
    end
  end

  defp same!(given, expected, test) when is_tuple(expected) do
    same!(Tuple.to_list(given), Tuple.to_list(expected), test)
  end

  defp same!(given, expected, test) when is_list(given) do
    assert length(given) == length(expected)
    Enum.zip_with(given, expected, &same!(&1, &2, test))
  end

  defp same!(given, expected, _test), do: assert(given == expected)

  defp elements(%T{type: type} = tensor), do: tensor |> Nx.to_binary() |> Number.decode(type)

  defp near?({expected, given}, {kind, _} = type, _test) when kind in [:s, :u] do
    given == Number.round_to(expected, type)
  end

  defp near?({expected, given}, {:c, _} = type, test) do
    {expected, given} = {Number.complex(expected), Number.complex(given)}
    part = Number.part(type)
    Number.round_to(expected, type) === given or within?(expected, given, part, test)
  end

  defp near?({expected, given}, type, test) do
    Number.round_to(expected, type) === given or within?(expected, given, type, test)
  end

  defp within?({re, im}, {given_re, given_im}, type, test) do
    if Enum.all?([re, im, given_re, given_im], &is_number/1) do
      distance = modulus(given_re - re, given_im - im)
      distance <= test.ulps * Number.ulp(max(modulus(re, im), test.scale), type)
    else
      near?({re, given_re}, type, test) and near?({im, given_im}, type, test)
    end
  end

  # The signs of zeros count where the result is exact.
  defp within?(expected, given, _type, %{ulps: 0} = test) when expected == 0 and given == 0 do
    test.zeros == :equal
  end

  defp within?(expected, given, type, test) when is_number(expected) and is_number(given) do
    abs(given - expected) <= test.ulps * Number.ulp(max(abs(expected), test.scale), type)
  end

  defp within?(_expected, _given, _type, _test), do: false

  defp modulus(re, im), do: :math.sqrt(re * re + im * im)
end
