"""How true the simulated times are: published measurements, and kernels that reproduce them."""
