"""Stands in for torch_neuronx.xla_impl, of which kernels import `ops.nki_jit`."""
