defmodule ExBurn.Conformance.LinearAlgebra do
  @moduledoc """
  Functions of matrices, well conditioned ones, in batches.

  Where the result is unique, it is the reference's. Factors are multiplied with each other: that
  must give the matrix again, with factors of the right kind.
  """

  use ExBurn.Conformance.Family

  @unique [tolerance: "16 ulps of the largest"]
  @factors [tolerance: "product within 64 ulps"]

  @impl true
  def operations do
    [
      operation(Nx.Block.LinAlg.Cholesky, @factors, &cholesky/1),
      operation(Nx.Block.LinAlg.Solve, @unique, &solve/1),
      operation(:triangular_solve, @unique, &triangular_solve/1),
      operation(Nx.Block.LinAlg.Determinant, @unique, &determinant/1),
      operation(Nx.Block.LinAlg.LU, @factors, &lu/1),
      operation(Nx.Block.LinAlg.QR, @factors, &qr/1),
      operation(Nx.Block.LinAlg.Eigh, @factors, &eigh/1),
      operation(Nx.Block.LinAlg.SVD, [types: reals()] ++ @factors, &svd/1)
    ]
  end

  ## Where the result is unique

  defp solve(type) do
    gen all matrix <- square(type), right <- right_side(matrix) do
      unique({Nx.LinAlg, :solve, [matrix, right]}, 1.0)
    end
  end

  defp triangular_solve(type) do
    gen all matrix <- square(type),
            lower? <- boolean(),
            transform <- member_of([:none, :transpose, :conjugate]),
            left? <- boolean(),
            right <- right_side(matrix) do
      # From the right side, it is the transposed problem.
      left? = left? or tuple_size(right.shape) < tuple_size(matrix.shape)
      right = if left?, do: right, else: transposed(right)
      options = [lower: lower?, left_side: left?, transform_a: transform]
      unique({Nx.LinAlg, :triangular_solve, [triangle(matrix, lower?), right, options]}, 1.0)
    end
  end

  # It is composed of products, each of which is rounded: those of 8-bit floats are exact.
  defp determinant({_, 8} = type) when type in [{:f, 8}, {:f8_e4m3fn, 8}] do
    gen all size <- integer(1..3), matrix <- operand(type, {size, size}, unit(type)) do
      unique({Nx.LinAlg, :determinant, [matrix]}, 1.0)
    end
  end

  defp determinant(type) do
    gen all matrix <- square(type) do
      size = elem(matrix.shape, tuple_size(matrix.shape) - 1)
      unique({Nx.LinAlg, :determinant, [matrix]}, (diagonal(type) + 1.0) ** size)
    end
  end

  defp unique(call, scale), do: %Case{call: call, ulps: 16, scale: scale}

  ## Where factors are multiplied

  defp cholesky(type), do: map(hermitian(type), &factors(:cholesky_product, &1, []))

  defp lu(type) do
    map(any_square(type), &factors(:lu_product, &1, []))
  end

  defp qr(type) do
    gen all matrix <- rectangular(type), mode <- member_of([:reduced, :complete]) do
      factors(:qr_product, matrix, mode: mode)
    end
  end

  defp eigh(type) do
    map(hermitian(type), &factors(:eigh_product, &1, []))
  end

  defp svd(type) do
    gen all matrix <- rectangular(type), full? <- boolean() do
      factors(:svd_product, matrix, full_matrices?: full?)
    end
  end

  # The product, and the numbers of elements that break the rule of a factor.
  defp factors(name, matrix, options) do
    %Case{
      call: {__MODULE__, name, [matrix, options]},
      expected: fn ->
        tensor = Operand.reference(matrix)
        {as_float(tensor), [0.0]}
      end,
      ulps: 64,
      scale: diagonal(matrix.type) + 1.0
    }
  end

  defp as_float(tensor), do: Nx.as_type(tensor, Operand.wide(Nx.Type.to_floating(tensor.type)))

  @doc "L · Lᴴ, of which L is triangular."
  def cholesky_product(matrix, []) do
    l = Nx.LinAlg.cholesky(matrix)
    {multiply(l, Nx.LinAlg.adjoint(l)), faults([upper(l)])}
  end

  @doc "P · L · U, of which L and U are triangular, and L has ones on its diagonal."
  def lu_product(matrix, []) do
    {p, l, u} = Nx.LinAlg.lu(matrix)
    product = p |> Nx.as_type(l.type) |> multiply(multiply(l, u))
    {product, faults([upper(l), lower(u), Nx.subtract(Nx.take_diagonal(l), 1)])}
  end

  @doc "Q · R, of which the columns of Q are orthonormal, and R is triangular."
  def qr_product(matrix, options) do
    {q, r} = Nx.LinAlg.qr(matrix, options)
    {multiply(q, r), faults([unorthogonal(q), lower(r)])}
  end

  @doc "V · D · Vᴴ, of which the columns of V are orthonormal."
  def eigh_product(matrix, []) do
    {values, vectors} = Nx.LinAlg.eigh(matrix)
    scaled = Nx.multiply(vectors, Nx.new_axis(values, -2))
    {multiply(scaled, Nx.LinAlg.adjoint(vectors)), faults([unorthogonal(vectors)])}
  end

  @doc "U · S · Vᴴ, of which U and V have orthonormal columns, and S falls and is not negative."
  def svd_product(matrix, options) do
    {u, s, vt} = Nx.LinAlg.svd(matrix, options)
    count = Nx.axis_size(s, -1)
    columns = Nx.slice_along_axis(u, 0, count, axis: -1)
    rows = Nx.slice_along_axis(vt, 0, count, axis: -2)
    falls = Nx.subtract(s, Nx.sort(s, axis: -1, direction: :desc))
    negative = Nx.less(s, 0)
    product = columns |> Nx.multiply(Nx.new_axis(s, -2)) |> multiply(rows)
    {product, faults([unorthogonal(u), unorthogonal(Nx.LinAlg.adjoint(vt)), falls, negative])}
  end

  defp multiply(left, right) do
    rank = Nx.rank(left)
    batch = Enum.to_list(0..(rank - 3)//1)
    Nx.dot(left, [rank - 1], batch, right, [rank - 2], batch)
  end

  defp upper(matrix), do: Nx.triu(matrix, k: 1)
  defp lower(matrix), do: Nx.tril(matrix, k: -1)

  # Nothing where the products of the columns are near to those of an orthonormal matrix.
  defp unorthogonal(matrix) do
    products = multiply(Nx.LinAlg.adjoint(matrix), matrix)
    error = products |> Nx.subtract(Nx.eye(products.shape)) |> Nx.abs()
    Nx.greater(error, 64 * Number.ulp(1.0, Number.part(matrix.type)))
  end

  # How many of all elements aren't zeros.
  defp faults(tensors) do
    tensors
    |> Enum.map(&(&1 |> Nx.not_equal(0) |> Nx.sum() |> Nx.as_type(:f32) |> Nx.new_axis(0)))
    |> Nx.concatenate()
    |> Nx.sum(axes: [0], keep_axes: true)
  end

  ## Matrices

  # The type has the elements, and the diagonal is larger than the rest of a row.
  defp square(type) do
    map(any_square(type), &with_diagonal/1)
  end

  defp any_square(type) do
    gen all batch <- list_of(integer(1..3), max_length: 1),
            size <- integer(1..5),
            matrix <- operand(type, List.to_tuple(batch ++ [size, size]), unit(type)) do
      matrix
    end
  end

  defp rectangular(type) do
    gen all batch <- list_of(integer(1..3), max_length: 1),
            sizes <- list_of(integer(1..5), length: 2),
            matrix <- operand(type, List.to_tuple(batch ++ sizes), unit(type)) do
      matrix
    end
  end

  defp hermitian(type) do
    gen all matrix <- any_square(type) do
      matrix |> map_rows(&mirrored/1) |> with_diagonal()
    end
  end

  # The elements above the diagonal are those below.
  defp mirrored(rows) do
    for {row, i} <- Enum.with_index(rows) do
      for {element, j} <- Enum.with_index(row) do
        if j <= i, do: element, else: conjugate(rows |> Enum.at(j) |> Enum.at(i))
      end
    end
  end

  defp conjugate({re, im}), do: {re, -im}
  defp conjugate(real), do: real

  defp with_diagonal(matrix) do
    value = diagonal(matrix.type)
    bare? = matrix.type in [{:s, 2}, {:u, 2}]

    change(matrix, fn element, i, j ->
      cond do
        i == j -> value
        bare? -> 0
        true -> element
      end
    end)
  end

  # As much as the type has of what makes the matrix well conditioned; where that is too little, all
  # else is zero.
  defp diagonal({:s, 2}), do: 1
  defp diagonal({:u, 2}), do: 3
  defp diagonal({:s, 4}), do: 7
  defp diagonal({kind, _}) when kind in [:s, :u], do: 8
  defp diagonal(_float), do: 8.0

  defp triangle(matrix, lower?) do
    change(matrix, fn element, i, j ->
      if (lower? and j <= i) or (not lower? and j >= i), do: element, else: 0
    end)
  end

  defp change(matrix, function) do
    map_rows(matrix, fn rows ->
      for {row, i} <- Enum.with_index(rows) do
        for {element, j} <- Enum.with_index(row), do: function.(element, i, j)
      end
    end)
  end

  defp map_rows(%{shape: shape} = matrix, function) do
    {rows, columns} = last_two(shape)

    elements =
      matrix.elements
      |> Enum.chunk_every(rows * columns)
      |> Enum.flat_map(&(&1 |> Enum.chunk_every(columns) |> function.() |> Enum.concat()))

    %{matrix | elements: elements}
  end

  defp last_two(shape),
    do: {elem(shape, tuple_size(shape) - 2), elem(shape, tuple_size(shape) - 1)}

  # A vector, or some columns, of each of the batch.
  defp right_side(matrix) do
    gen all columns <- list_of(integer(1..3), max_length: 1),
            sizes = matrix.shape |> Tuple.to_list() |> Enum.drop(-1),
            right <- operand(matrix.type, List.to_tuple(sizes ++ columns), unit(matrix.type)) do
      right
    end
  end

  defp transposed(%{shape: shape} = right) do
    {rows, columns} = last_two(shape)

    shape =
      shape |> put_elem(tuple_size(shape) - 2, columns) |> put_elem(tuple_size(shape) - 1, rows)

    %{right | shape: shape}
  end
end
