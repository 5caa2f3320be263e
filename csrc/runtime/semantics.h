#pragma once
// Whether operators follow torch or the vendor's device where the two differ.

namespace neuron_sim {

/// Whether operators behave as TorchNeuron's do where those differ from torch's
/// (docs/torchneuron.md). NEURON_SIM_SEMANTICS says so, else the name of the device;
/// read once. Python refuses other values than "vendor" and "torch" when it registers the device.
bool vendor_semantics();
/// Whether an operator whose device kernel refuses its arguments raises instead of running on the
/// CPU: TorchNeuron's variable TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS, read once, with
/// vendor_semantics().
bool falls_back_only_without_kernel();

}  // namespace neuron_sim
