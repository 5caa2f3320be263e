"""The device of PyTorch: its registration, and the module `torch.neuron_sim` (device_module)."""
