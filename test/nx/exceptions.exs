# The examples of Nx that don't run on `ExBurn.Backend`, each with the reason.
[
  {Nx, {:fft, 2}, "Fourier transforms are not supported yet"}
]
