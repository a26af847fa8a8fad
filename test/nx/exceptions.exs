# The functions of Nx whose examples don't all run on `ExBurn.Backend`, each with the reason.
[
  # Types that the engine doesn't have yet.
  {Nx, {:tensor, 2}, "has examples of complex and 8-bit float types"},
  {Nx, {:as_type, 2}, "has examples of complex types"},
  {Nx, {:bitcast, 2}, "has an example of a complex type"},
  {Nx, {:bit_size, 1}, "has an example of a 2-bit type"},
  {Nx, {:is_nan, 1}, "has an example of a complex type"},
  {Nx, {:is_infinity, 1}, "has an example of a complex type"},
  {Nx, {:complex, 2}, "makes a complex type"},
  {Nx, {:conjugate, 1}, "has examples of complex types"},
  {Nx, {:phase, 1}, "has examples of complex types"},
  {Nx, {:real, 1}, "has examples of complex types"},
  {Nx, {:imag, 1}, "has examples of complex types"},
  {Nx, {:conv, 3}, "has an example of a complex type"},
  {Nx, {:sigil_MAT, 2}, "has an example of a complex type"},
  {Nx, {:sigil_VEC, 2}, "has an example of a complex type"},

  # Operations that the engine doesn't have yet.
  {Nx, {:reduce, 4}, "functions of the caller are not supported yet"},
  {Nx, {:window_reduce, 5}, "functions of the caller are not supported yet"},
  {Nx, {:fft, 2}, "Fourier transforms are not supported yet"},
  {Nx, {:ifft, 2}, "Fourier transforms are not supported yet"},
  {Nx, {:fft2, 2}, "Fourier transforms are not supported yet"},
  {Nx, {:ifft2, 2}, "Fourier transforms are not supported yet"},
  {Nx, {:rfft, 2}, "Fourier transforms are not supported yet"},
  {Nx, {:irfft, 2}, "Fourier transforms are not supported yet"},

  # Results that differ in the last digits of an f64; erfc(2) is 0.00467773498104726583…,
  # erf_inv(0.1) 0.0888559904942576919… and acosh(3) 1.76274717403908605…
  {Nx, {:erfc, 1}, "ours is the nearer neighbour of the true value"},
  {Nx, {:erf_inv, 1}, "the example's value is right to 8 digits, ours to all"},
  {Nx, {:acosh, 1},
   "ours is the next neighbour of the true value, 0.8 units in the last place off"}
]
