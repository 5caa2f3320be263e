"""torch_xla.core: see the package."""
