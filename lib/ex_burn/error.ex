defmodule ExBurn.Error do
  @moduledoc """
  The one exception that ExBurn raises.

  It names the operation that refused, why, and what else is known:

    * `:op` - the operation, such as `:matmul`; `nil` where none is known
    * `:reason` - why it refused, a string
    * `:details` - a map of whatever helps to find the cause (default: `%{}`)

  It is raised like any exception:

      raise ExBurn.Error, op: :matmul, reason: "shape mismatch", details: %{lhs: [3, 4], rhs: [5, 6]}

  The functions that return `{:error, reason}` instead are turned into one with `from_tuple/2`.
  """

  defexception op: nil, reason: "unknown error", details: %{}

  @type op :: atom() | String.t() | nil

  @type t :: %__MODULE__{op: op(), reason: String.t(), details: map()}

  @typedoc """
  The reason in an error tuple: a text, or what an operation was given and what it expected.
  """
  @type reason :: String.t() | {op(), given :: String.t(), expected :: String.t()} | term()

  @doc """
  The message: the operation and the reason.

      iex> Exception.message(ExBurn.Error.new(op: :reshape, reason: "wrong size"))
      "reshape: wrong size"

      iex> Exception.message(ExBurn.Error.new(reason: "no device"))
      "no device"
  """
  @impl true
  @spec message(t()) :: String.t()
  def message(%__MODULE__{op: nil, reason: reason}), do: reason
  def message(%__MODULE__{op: op, reason: reason}), do: "#{op}: #{reason}"

  @doc """
  Makes an error without raising it.

  ## Options

    * `:op` - the operation (default: `nil`)
    * `:reason` - why it refused; anything but a string is inspected (default: `"unknown error"`)
    * `:details` - a map or a keyword list (default: `%{}`)

  Any other option raises a `KeyError`.

      iex> error = ExBurn.Error.new(op: :forward, reason: "shape mismatch", details: [rank: 2])
      iex> {error.op, error.reason, error.details}
      {:forward, "shape mismatch", %{rank: 2}}
  """
  @spec new(keyword()) :: t()
  def new(options), do: exception(options)

  @impl true
  @doc false
  def exception(reason) when is_binary(reason), do: %__MODULE__{reason: reason}

  def exception(options) do
    error = struct!(__MODULE__, options)
    %{error | reason: text(error.reason), details: Map.new(error.details)}
  end

  @doc """
  Makes an error of an error tuple.

  The reason may be a string, an exception, a triple `{op, given, expected}` or any other term,
  which is inspected. The triple's two texts are kept in the details.

  ## Options

    * `:op` - the operation (default: the one that the reason names, if any)
    * `:details` - more details, a map or a keyword list (default: `%{}`)

      iex> error = ExBurn.Error.from_tuple({:error, "failed"}, op: :predict)
      iex> Exception.message(error)
      "predict: failed"

      iex> error = ExBurn.Error.from_tuple({:error, {"reshape", "f32 {2, 3}", "6 elements"}})
      iex> Exception.message(error)
      "reshape: given f32 {2, 3}, expected 6 elements"
      iex> error.details
      %{given: "f32 {2, 3}", expected: "6 elements"}
  """
  @spec from_tuple({:error, reason()}, keyword()) :: t()
  def from_tuple(tuple, options \\ [])

  def from_tuple({:error, reason}, options) do
    error = from_reason(reason)
    options = Keyword.validate!(options, op: error.op, details: %{})
    %{error | op: options[:op], details: Map.merge(error.details, Map.new(options[:details]))}
  end

  defp from_reason({op, given, expected}) when is_binary(given) and is_binary(expected) do
    new(
      op: op,
      reason: "given #{given}, expected #{expected}",
      details: %{given: given, expected: expected}
    )
  end

  defp from_reason(%__MODULE__{} = error), do: error
  defp from_reason(reason), do: new(reason: reason)

  @doc """
  The error on one line for a person, with the details that the message doesn't hold.

      iex> error = ExBurn.Error.new(op: :matmul, reason: "shape mismatch", details: %{lhs: [3, 4], rhs: [5, 6]})
      iex> ExBurn.Error.format(error)
      "matmul: shape mismatch (lhs: [3, 4], rhs: [5, 6])"
  """
  @spec format(t()) :: String.t()
  def format(%__MODULE__{} = error) do
    case error.details |> Map.drop([:given, :expected]) |> Enum.sort() do
      [] -> message(error)
      details -> "#{message(error)} (#{Enum.map_join(details, ", ", &detail(&1, ": "))})"
    end
  end

  @doc """
  The error on one line of `key=value` pairs, for a log.

      iex> error = ExBurn.Error.new(op: :matmul, reason: "shape mismatch", details: %{rank: 2})
      iex> ExBurn.Error.to_log_string(error)
      ~s(op=matmul reason="shape mismatch" rank=2)
  """
  @spec to_log_string(t()) :: String.t()
  def to_log_string(%__MODULE__{op: op, reason: reason, details: details}) do
    operation = if op, do: ["op=#{op}"], else: []
    pairs = details |> Enum.sort() |> Enum.map(&detail(&1, "="))
    Enum.join(operation ++ ["reason=#{inspect(reason)}"] ++ pairs, " ")
  end

  defp detail({key, value}, sign), do: "#{name(key)}#{sign}#{inspect(value)}"

  defp name(key) when is_atom(key) or is_binary(key), do: to_string(key)
  defp name(key), do: inspect(key)

  defp text(reason) when is_binary(reason), do: reason
  defp text(reason) when is_exception(reason), do: Exception.message(reason)
  defp text(reason), do: inspect(reason)
end
