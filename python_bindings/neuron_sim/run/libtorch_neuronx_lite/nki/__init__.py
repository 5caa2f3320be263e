"""libtorch_neuronx_lite.nki: see nki_hop."""
