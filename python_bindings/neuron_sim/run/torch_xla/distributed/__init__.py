"""torch_xla.distributed: several processes, one for each NeuronCore."""
