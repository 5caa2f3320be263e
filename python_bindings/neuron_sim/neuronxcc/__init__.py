"""The vendor's package of that name, as far as NKI kernels use it."""
