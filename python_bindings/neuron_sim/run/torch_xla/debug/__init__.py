"""torch_xla.debug: counters."""
