defmodule ExBurn.Nif do
  @moduledoc """
  The functions of the native library, as they are.

  They are for `ExBurn.Backend`, `ExBurn.Tensor` and whoever builds the like; everyone else goes
  through `Nx`. Whatever they are given, they answer and never raise:

    * `{:ok, value}`
    * `{:collect, value}`, where so much memory was handed out that the caller should run
      `:erlang.garbage_collect/0`: the collector sees references, not what hangs on them
    * `{:error, {op, given, expected}}`, three strings
    * `:dirty` from those that also exist as `…_dirty`: too much work for a normal scheduler, call
      the other one with the same arguments

  A tensor is a reference. Types are atoms such as `:f32` and `:u8`, shapes are lists of sizes,
  devices are those of `devices/0`. An operation is `{family, attributes}`, for example
  `{:binary, :add}` or `{:reshape, %{shape: [2, 3]}}`.

  The library is downloaded, checked and cached, or built from source where `EXBURN_BUILD=1` is set
  or `config :rustler_precompiled, :force_build, ex_burn: true`. `mix ex_burn.doctor` tells which
  one it is and why.
  """

  alias ExBurn.Nif.Loader

  # Mix compiles this module again when what is read this way changes.
  config = Loader.config(&Application.compile_env(__ENV__, &1, &2, &3))

  use RustlerPrecompiled, Loader.options!(config)

  # A cross build compiles for a machine that it doesn't run on.
  @compile {:autoload, false}

  @typedoc "A tensor of the engine."
  @type tensor :: reference()

  @typedoc "A program of the engine."
  @type program :: reference()

  @typedoc "An answer."
  @type answer(value) ::
          {:ok, value} | {:collect, value} | {:error, {String.t(), String.t(), String.t()}}

  @doc "The version of the native library."
  @spec version() :: String.t()
  def version, do: not_loaded()

  @doc "The number of functions that the native library registers."
  @spec function_count() :: non_neg_integer()
  def function_count, do: not_loaded()

  @doc "Name and title of every device that works here, the most capable first."
  @spec devices() :: answer([{atom(), String.t()}])
  def devices, do: not_loaded()

  @doc "Bytes that all tensors take together."
  @spec memory_used() :: non_neg_integer()
  def memory_used, do: not_loaded()

  @doc "A tensor on `device` of the elements in `binary`, row-major and in native byte order."
  @spec from_binary(binary(), atom(), [pos_integer()], atom()) :: answer(tensor()) | :dirty
  def from_binary(_binary, _type, _shape, _device), do: not_loaded()

  @doc "As `from_binary/4`, on a dirty scheduler."
  @spec from_binary_dirty(binary(), atom(), [pos_integer()], atom()) :: answer(tensor())
  def from_binary_dirty(_binary, _type, _shape, _device), do: not_loaded()

  @doc "The first `limit` elements as a binary; all of them where it is `nil`."
  @spec to_binary(tensor(), pos_integer() | nil) :: answer(binary()) | :dirty
  def to_binary(_tensor, _limit), do: not_loaded()

  @doc "As `to_binary/2`, on a dirty scheduler."
  @spec to_binary_dirty(tensor(), pos_integer() | nil) :: answer(binary())
  def to_binary_dirty(_tensor, _limit), do: not_loaded()

  @doc "Type and shape of a tensor."
  @spec spec(tensor()) :: answer({atom(), [pos_integer()]})
  def spec(_tensor), do: not_loaded()

  @doc "The device that a tensor is on."
  @spec device(tensor()) :: answer(atom())
  def device(_tensor), do: not_loaded()

  @doc "Lets go of a tensor's memory now, whoever still holds the reference."
  @spec deallocate(tensor()) :: answer(:ok | :already_deallocated)
  def deallocate(_tensor), do: not_loaded()

  @doc "The tensor on `device`; itself where it is there already."
  @spec to_device(tensor(), atom()) :: answer(tensor())
  def to_device(_tensor, _device), do: not_loaded()

  @doc """
  The result, of `type`, of one operation on tensors of one device. Without operands, the result
  goes to `device`.
  """
  @spec eval(term(), [tensor()], atom(), atom()) :: answer(tensor()) | :dirty
  def eval(_op, _operands, _type, _device), do: not_loaded()

  @doc "As `eval/4`, on a dirty scheduler."
  @spec eval_dirty(term(), [tensor()], atom(), atom()) :: answer(tensor())
  def eval_dirty(_op, _operands, _type, _device), do: not_loaded()

  @doc """
  A program of a graph, `%{inputs: [%{dtype: type, shape: shape}], instructions: […], outputs:
  [value]}`. Values are numbered: first the inputs, then the results of every instruction, which
  is one of:

    * `{:apply, %{op: op, operands: [value], dtype: type}}` - an operation
    * `{:cond, %{predicate: value, operands: [value], branches: [graph, graph]}}` - the outputs of
      the first graph where the predicate is not zero, else of the second
    * `{:while, %{operands: [value], condition: graph, body: graph}}` - what the body makes of the
      operands, again and again, as long as the condition makes a scalar of them that is not zero
  """
  @spec compile(map()) :: answer(program())
  def compile(_graph), do: not_loaded()

  @doc "The outputs of a program. Without inputs, it runs on `device`."
  @spec run(program(), [tensor()], atom()) :: answer([tensor()]) | :dirty
  def run(_program, _inputs, _device), do: not_loaded()

  @doc "As `run/3`, on a dirty scheduler."
  @spec run_dirty(program(), [tensor()], atom()) :: answer([tensor()])
  def run_dirty(_program, _inputs, _device), do: not_loaded()

  @doc """
  The outputs of a program, and the gradients of its first output, a float scalar, by the inputs
  whose positions are in `by`.
  """
  @spec value_and_grad(program(), [tensor()], [non_neg_integer()], atom()) ::
          answer({[tensor()], [tensor()]})
  def value_and_grad(_program, _inputs, _by, _device), do: not_loaded()

  defp not_loaded, do: :erlang.nif_error(:nif_not_loaded)
end
