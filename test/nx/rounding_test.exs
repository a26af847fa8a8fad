defmodule ExBurn.Nx.RoundingTest do
  @moduledoc "What `exceptions.exs` leaves out of the examples of Nx, against the true values."

  use ExUnit.Case, async: true

  defp close(given, expected, tolerance) do
    for {given, expected} <- Enum.zip(Nx.to_flat_list(given), List.flatten(expected)) do
      assert abs(given - expected) <= tolerance * max(1.0, abs(expected))
    end
  end

  # Values of mpmath, to 17 digits.
  test "erfc, erf_inv and acosh are within a unit in the last place of f64" do
    f64 = &Nx.tensor(&1, type: :f64)

    for {given, expected} <- [
          {Nx.erfc(f64.(1)), 0.15729920705028513},
          {Nx.erfc(f64.(2)), 0.0046777349810472658},
          {Nx.erfc(f64.(3)), 2.2090496998585441e-5},
          {Nx.erf_inv(f64.(0.1)), 0.088855990494257691},
          {Nx.erf_inv(f64.(0.5)), 0.47693627620446987},
          {Nx.erf_inv(f64.(0.9)), 1.1630871536766741},
          {Nx.acosh(f64.(2)), 1.3169578969248167},
          {Nx.acosh(f64.(3)), 1.7627471740390861}
        ] do
      assert abs(Nx.to_number(given) - expected) <= 2.3e-16 * expected
    end
  end

  test "eigh gives the matrix back, with orthonormal vectors and the largest values first" do
    a = Nx.tensor([[0, 1, 2], [1, 0, 2], [2, 2, 3]])
    {values, vectors} = Nx.LinAlg.eigh(a)
    close(values, [5.0, -1.0, -1.0], 4.0e-7)
    close(Nx.dot(Nx.transpose(vectors), vectors), Nx.to_list(Nx.eye(3)), 4.0e-7)
    close(Nx.dot(Nx.multiply(vectors, values), Nx.transpose(vectors)), Nx.to_list(a), 4.0e-7)
  end

  test "svd gives the matrix back, with the largest values first" do
    a = Nx.tensor([[2, 0, 0], [0, 3, 0], [0, 0, -1], [0, 0, 0]])
    {u, s, vt} = Nx.LinAlg.svd(a)
    close(s, [3.0, 2.0, 1.0], 4.0e-7)
    close(Nx.dot(Nx.transpose(u), u), Nx.to_list(Nx.eye(4)), 4.0e-7)
    close(Nx.dot(Nx.transpose(vt), vt), Nx.to_list(Nx.eye(3)), 4.0e-7)
    close(u[[.., 0..2]] |> Nx.multiply(s) |> Nx.dot(vt), Nx.to_list(a), 4.0e-7)
  end

  test "pinv of an invertible matrix is its inverse" do
    close(Nx.LinAlg.pinv(Nx.tensor([[1, 1], [3, 4]])), [[4.0, -1.0], [-3.0, 1.0]], 4.0e-7)
  end

  test "least_squares solves exact, overdetermined and underdetermined systems" do
    solve = &Nx.LinAlg.least_squares(Nx.tensor(&1), Nx.tensor(&2))
    close(solve.([[1, 2], [2, 3]], [1, 2]), [1.0, 0.0], 2.0e-6)
    line = solve.([[0, 1], [1, 1], [2, 1], [3, 1]], [-1, 0.2, 0.9, 2.1])
    close(line, [1.0, -0.95], 2.0e-6)
    close(solve.([[1, 2, 3], [4, 5, 6]], [1, 2]), [-1 / 18, 1 / 9, 5 / 18], 2.0e-6)
  end
end
