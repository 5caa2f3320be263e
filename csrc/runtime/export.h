#pragma once
// What libtorch_neuron_sim.so shows to programs and to the Python module; all else may be hidden.

#define NEURON_SIM_TORCH_API __attribute__((visibility("default")))
