defmodule ExBurn.Operation do
  @moduledoc false
  # The operations of Nx in the engine's terms: one clause each, for `ExBurn.Backend`, which runs
  # them one by one, and for `ExBurn.Defn.Lower`, which makes programs of them.

  alias Nx.Tensor, as: T

  @unary Enum.map(Nx.Shared.unary_math_funs(), &elem(&1, 0)) ++
           [:abs, :negate, :sign, :ceil, :floor, :round] ++
           [:bitwise_not, :count_leading_zeros, :population_count, :is_nan, :is_infinity]

  @binary [:add, :subtract, :multiply, :pow, :remainder, :divide, :atan2, :min, :max, :quotient] ++
            [:bitwise_and, :bitwise_or, :bitwise_xor, :left_shift, :right_shift] ++
            [:equal, :not_equal, :greater, :less, :greater_equal, :less_equal] ++
            [:logical_and, :logical_or, :logical_xor]

  @elementwise @unary ++ @binary ++ [:select, :clip, :as_type, :real, :imag, :conjugate]

  @reductions [:sum, :product, :reduce_max, :reduce_min, :all, :any]

  @windows [window_sum: :sum, window_product: :product, window_max: :max, window_min: :min]

  @scans [
    {Nx.Block.CumulativeSum, :sum},
    {Nx.Block.CumulativeProduct, :product},
    {Nx.Block.CumulativeMax, :max},
    {Nx.Block.CumulativeMin, :min}
  ]

  @doc "Whether a callback of `Nx.Backend` makes each element of its result of one of each operand."
  @spec elementwise?(atom()) :: boolean()
  def elementwise?(name), do: name in @elementwise

  @doc """
  The engine's term for an operation of Nx that gives `out`, and its operands: tensors, or integers
  where Nx hands over plain start indices. `:error` where the engine has no such operation.

  The name is a callback of `Nx.Backend` or a struct of `Nx.Block`, the arguments are that
  callback's after `out`, or the block's.
  """
  @spec new(atom() | struct(), Nx.Tensor.t(), [term()]) ::
          {term(), [Nx.Tensor.t() | integer()]} | :error
  def new(name, out, args)

  # Element by element

  for op <- @unary do
    def new(unquote(op), _out, [tensor]), do: {{:unary, unquote(op)}, [tensor]}
  end

  for op <- @binary do
    def new(unquote(op), _out, [left, right]), do: {{:binary, unquote(op)}, [left, right]}
  end

  def new(:select, _out, [test, yes, no]), do: {{:choose, :select}, [test, yes, no]}
  def new(:clip, _out, [tensor, low, high]), do: {{:choose, :clip}, [tensor, low, high]}
  def new(:as_type, _out, [tensor]), do: {{:convert, :as_type}, [tensor]}
  def new(:bitcast, _out, [tensor]), do: {{:convert, :bitcast}, [tensor]}

  def new(:real, _out, [tensor]), do: {{:part, :real}, [tensor]}
  def new(:imag, _out, [tensor]), do: {{:part, :imag}, [tensor]}
  def new(:conjugate, _out, [tensor]), do: {{:part, :conjugate}, [tensor]}

  # Creation

  def new(:constant, out, [%Complex{re: re, im: im}]), do: new(:constant, out, [{re, im}])
  def new(:constant, out, [number]), do: {{:constant, %{value: number, shape: dims(out)}}, []}

  def new(:iota, out, [axis]), do: {{:iota, %{shape: dims(out), axis: axis}}, []}
  def new(:eye, out, []), do: {{:eye, %{shape: dims(out)}}, []}

  # Shape

  def new(:reshape, out, [tensor]), do: {{:reshape, %{shape: dims(out)}}, [tensor]}
  def new(:squeeze, out, [tensor, _axes]), do: {{:reshape, %{shape: dims(out)}}, [tensor]}

  def new(:broadcast, out, [tensor, _shape, axes]) do
    {{:broadcast, %{shape: dims(out), axes: axes}}, [tensor]}
  end

  def new(:transpose, _out, [tensor, axes]), do: {{:transpose, %{axes: axes}}, [tensor]}
  def new(:reverse, _out, [tensor, axes]), do: {{:reverse, %{axes: axes}}, [tensor]}

  def new(:pad, _out, [tensor, value, padding]),
    do: {{:pad, %{padding: padding}}, [tensor, value]}

  def new(:concatenate, _out, [tensors, axis]), do: {{:concatenate, %{axis: axis}}, tensors}
  def new(:stack, _out, [tensors, axis]), do: {{:stack, %{axis: axis}}, tensors}

  # Indexing

  def new(:slice, _out, [tensor, starts, lengths, strides]) do
    if Enum.all?(starts, &is_integer/1) do
      starts = clamp(starts, dims(tensor), lengths)
      {{:slice, %{starts: starts, lengths: lengths, strides: strides}}, [tensor]}
    else
      {{:dynamic_slice, %{lengths: lengths, strides: strides}}, [tensor | starts]}
    end
  end

  # The expression of a put_slice has its arguments in another order than the callback.
  def new(:put_slice, out, [tensor, starts, slice]) when is_list(starts) do
    new(:put_slice, out, [tensor, slice, starts])
  end

  def new(:put_slice, _out, [tensor, slice, starts]) do
    if Enum.all?(starts, &is_integer/1) do
      {{:put_slice, %{starts: clamp(starts, dims(tensor), dims(slice))}}, [tensor, slice]}
    else
      {{:dynamic_put_slice, %{}}, [tensor, slice | starts]}
    end
  end

  def new(:gather, _out, [tensor, indices, options]) do
    {{:gather, %{axes: options[:axes]}}, [tensor, indices]}
  end

  def new(:indexed_add, _out, [tensor, indices, updates, options]) do
    {{:indexed, %{kind: :add, axes: options[:axes]}}, [tensor, indices, updates]}
  end

  def new(:indexed_put, _out, [tensor, indices, updates, options]) do
    {{:indexed, %{kind: :put, axes: options[:axes]}}, [tensor, indices, updates]}
  end

  def new(%Nx.Block.Take{axis: axis}, _out, [tensor, indices]) do
    {{:take, %{axis: axis}}, [tensor, indices]}
  end

  def new(%Nx.Block.TakeAlongAxis{axis: axis}, _out, [tensor, indices]) do
    {{:take_along_axis, %{axis: axis}}, [tensor, indices]}
  end

  # Reductions and scans

  for op <- @reductions do
    def new(unquote(op), _out, [tensor, options]) do
      axes = options[:axes] || Nx.axes(tensor)
      keep_axes = options[:keep_axes] || false
      {{:reduce, %{kind: unquote(op), axes: axes, keep_axes: keep_axes}}, [tensor]}
    end
  end

  for op <- [:argmax, :argmin] do
    def new(unquote(op), _out, [tensor, options]) do
      attributes = %{
        kind: unquote(op),
        axis: options[:axis],
        keep_axis: options[:keep_axis] || false,
        tie_break: options[:tie_break] || :low
      }

      {{:arg_reduce, attributes}, [tensor]}
    end
  end

  for op <- [:sort, :argsort] do
    def new(unquote(op), _out, [tensor, options]) do
      {{unquote(op), %{axis: options[:axis], descending: options[:direction] == :desc}}, [tensor]}
    end
  end

  for {block, kind} <- @scans do
    def new(%unquote(block){axis: axis, reverse: reverse}, _out, [tensor]) do
      {{:cumulative, %{kind: unquote(kind), axis: axis, reverse: reverse}}, [tensor]}
    end
  end

  # Windows

  for {op, kind} <- @windows do
    def new(unquote(op), _out, [tensor, shape, options]) do
      attributes = %{
        kind: unquote(kind),
        dimensions: Tuple.to_list(shape),
        strides: options[:strides],
        padding: options[:padding],
        dilations: options[:window_dilations]
      }

      {{:window, attributes}, [tensor]}
    end
  end

  for {op, kind} <- [window_scatter_max: :max, window_scatter_min: :min] do
    def new(unquote(op), _out, [tensor, source, initial, shape, options]) do
      attributes = %{
        kind: unquote(kind),
        dimensions: Tuple.to_list(shape),
        strides: options[:strides],
        padding: options[:padding]
      }

      {{:window_scatter, attributes}, [tensor, source, initial]}
    end
  end

  # Products

  def new(:dot, _out, [left, contract_left, batch_left, right, contract_right, batch_right]) do
    attributes = %{
      contract_left: contract_left,
      batch_left: batch_left,
      contract_right: contract_right,
      batch_right: batch_right
    }

    {{:dot, attributes}, [left, right]}
  end

  def new(:conv, _out, [tensor, kernel, options]) do
    attributes = %{
      strides: options[:strides],
      padding: options[:padding],
      input_dilation: options[:input_dilation],
      kernel_dilation: options[:kernel_dilation],
      feature_groups: options[:feature_group_size],
      batch_groups: options[:batch_group_size],
      input_permutation: options[:input_permutation],
      kernel_permutation: options[:kernel_permutation],
      output_permutation: options[:output_permutation]
    }

    {{:conv, attributes}, [tensor, kernel]}
  end

  # Transforms

  for op <- [:fft, :ifft] do
    def new(unquote(op), _out, [tensor, options]) do
      attributes = %{
        kind: unquote(op),
        axis: options[:axis],
        length: options[:length],
        eps: options[:eps] * 1.0
      }

      {{:fourier, attributes}, [tensor]}
    end
  end

  # Linear algebra: functions of matrices, some with several results.

  def new(%Nx.Block.LinAlg.Cholesky{}, _out, [tensor]), do: {{:linalg, :cholesky}, [tensor]}
  def new(%Nx.Block.LinAlg.LU{}, _out, [tensor]), do: {{:linalg, :lu}, [tensor]}
  def new(%Nx.Block.LinAlg.Eigh{}, _out, [tensor]), do: {{:linalg, :eigh}, [tensor]}
  def new(%Nx.Block.LinAlg.Solve{}, _out, [a, b]), do: {{:linalg, :solve}, [a, b]}

  def new(%Nx.Block.LinAlg.QR{mode: mode}, _out, [tensor]) do
    {{:linalg, {:qr, %{complete: mode == :complete}}}, [tensor]}
  end

  def new(%Nx.Block.LinAlg.SVD{full_matrices?: full}, _out, [tensor]) do
    {{:linalg, {:svd, %{full: full}}}, [tensor]}
  end

  def new(:triangular_solve, _out, [a, b, options]) do
    attributes = %{
      left_side: options[:left_side],
      lower: options[:lower],
      transform: options[:transform_a]
    }

    {{:linalg, {:triangular_solve, attributes}}, [a, b]}
  end

  def new(_name, _out, _args), do: :error

  # A slice past the end begins earlier.
  defp clamp(starts, sizes, lengths) do
    Enum.zip_with([starts, sizes, lengths], fn [start, size, length] ->
      start |> max(0) |> min(size - length)
    end)
  end

  defp dims(%T{shape: shape}), do: Tuple.to_list(shape)
end
