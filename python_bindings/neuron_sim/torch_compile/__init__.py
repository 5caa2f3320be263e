"""torch.compile(backend="neuron_sim"): graphs of PyTorch as programs of the device."""
