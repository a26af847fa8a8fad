# The tests of Nx that fail on `ExBurn.Backend`: why, the file, and the names.
[
  {"of several NaNs the test expects the last, ours is the first, as NumPy, PyTorch and XLA have it",
   "nx_test.exs",
   [
     "argmax works with non finites",
     "argmin/2 works with non finites"
   ]},
  {"expects 0.9999998807907104 for the eigenvalue 1, which ours is", "nx/lin_alg_test.exs",
   [
     "eigh computes eigenvalues and eigenvectors for a Hermitian matrix case"
   ]},
  {"a rounding error has the other sign, and rounds to -0.0 instead of 0.0",
   "nx/lin_alg_test.exs",
   [
     "qr factors a square matrix"
   ]},
  {"expects bf16 cut off after the digits that fit, ours is rounded to the nearest",
   "nx/random_test.exs",
   [
     "types multivariate_normal",
     "types uniform"
   ]},
  {"expects an f64 of an `erf_inv` that is right to 8 digits, ours is to all",
   "nx/random_test.exs",
   [
     "types normal"
   ]},
  {"a function traced by Nx captures a tensor, which Nx allows for those of `Nx.BinaryBackend` alone",
   "nx/defn/grad_test.exs",
   [
     "conv rule computes gradient of kernel when image is a constant closure variable",
     "multi-tensor ops with captured closure tensors clip grad wrt min and max with a captured target",
     "multi-tensor ops with captured closure tensors put_slice grad wrt the update with a captured target",
     "multi-tensor ops with captured closure tensors reduce and window_reduce raise their documented no-grad error, not a dispatch crash",
     "solve computes the grad when the right-hand side is a constant",
     "vectorization composed: sigmoid(x @ w + b) (exercises composed chain with captures)",
     "vectorization conv with vectorized (exercises conv grad)",
     "vectorization dot with captured matrix (exercises concrete tensor handling)",
     "vectorization grad of non-vectorized target with vectorized capture",
     "vectorization mixed: vectorized x * non-vectorized y (exercises broadcast_vectors)",
     "vectorization non-vectorized input, vectorized output",
     "vectorization supports combination of vectorized and non-vectorized tensors",
     "vectorization supports combination of vectorized and non-vectorized tensors over composed function",
     "vectorization vectorized grad through Nx.LinAlg.triangular_solve with captured a",
     "vectorization window_scatter_max/min with vectorized inputs"
   ]},
  {"matches tensors as terms: two references are never the same term", "nx/defn/grad_test.exs",
   [
     "metadata computes custom grad"
   ]},
  {"matches tensors as terms: two references are never the same term", "nx/vectorize_test.exs",
   [
     "cond only executes selected branches"
   ]},
  {"complex infinities: ours are IEEE 754 arithmetic of the parts, the test's those of the package `complex`",
   "nx/non_finite_test.exs",
   [
     "aggregate operations product",
     "binary operations pow",
     "unary operations acosh",
     "unary operations cbrt",
     "unary operations expm1"
   ]},
  {"the sign of a NaN: infinity minus infinity is the processor's", "nx/non_finite_test.exs",
   [
     "aggregate operations sum"
   ]},
  {"expects the failure of an Elixir function on infinities, ours is the NaN of IEEE 754",
   "nx/non_finite_test.exs",
   [
     "binary operations remainder"
   ]},
  {"a function traced by Nx captures a tensor, which Nx allows for those of `Nx.BinaryBackend` alone",
   "nx/defn_test.exs",
   [
     "block accepts a constant tensor argument",
     "multi-tensor ops with captured closure tensors clip in a jit closure over a concrete target",
     "multi-tensor ops with captured closure tensors gather in a jit closure over a concrete source",
     "multi-tensor ops with captured closure tensors put_slice in a jit closure over a concrete target"
   ]}
]
