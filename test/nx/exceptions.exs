# The functions of Nx whose examples don't all print the same on `ExBurn.Backend`, each with the
# reason. All are of the last digits; `ExBurn.Nx.RoundingTest` holds these functions to the truth.
[
  # f64: erfc(2) is 0.00467773498104726583…, erf_inv(0.1) 0.0888559904942576919… and
  # acosh(3) 1.76274717403908605…
  {Nx, {:erfc, 1}, "ours is the nearer neighbour of the true value"},
  {Nx, {:erf_inv, 1}, "the example's value is right to 8 digits, ours to all"},
  {Nx, {:acosh, 1},
   "ours is the next neighbour of the true value, 0.8 units in the last place off"},

  # f32, by iterations of another kind than Nx's.
  {Nx.LinAlg, {:eigh, 2}, "eigenvectors of the same eigenvalue come in another order"},
  {Nx.LinAlg, {:svd, 2}, "the example has 0.99999994 for the 1 of ours"},
  {Nx.LinAlg, {:pinv, 2}, "the example's value is right to 5 digits, ours to 7"},
  {Nx.LinAlg, {:least_squares, 3}, "the example's value is right to 6 digits, ours to 7"}
]
