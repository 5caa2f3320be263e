#pragma once
// 64-bit dtypes as TorchNeuron computes them (csrc/runtime/semantics.h): its device has none, so
// float64 is float32 and int64 is int32 in its operators, although tensors keep their dtype and
// copies all their bits. Source: "64-bit dtypes" in docs/torchneuron.md.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

namespace neuron_sim {

/// Runs the device kernel of `op` on the arguments on `stack` with their float64 tensors as
/// float32, and leaves float64 in place of its float32 results. The casts cross the host link.
/// False, and nothing has happened, when no argument is a float64 tensor with dimensions, one in a
/// list, or a dtype float64.
bool run_narrowed(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Keeps the low 32 bits, with their sign, of the int64 elements of one call on the CPU. Warns when
/// an element loses bits.
class LowWords {
 public:
  /// Cuts the int64 CPU tensors with dimensions among the arguments on `stack`: those that `op`
  /// writes in place, others in a copy.
  void cut_arguments(const c10::OperatorHandle& op, torch::jit::Stack& stack);
  /// Cuts what the call has written and its results, if cut_arguments() saw such a tensor.
  void cut_results(const c10::OperatorHandle& op, torch::jit::Stack& stack);

 private:
  bool is_int64_ = false, lost_ = false;
  std::vector<at::Tensor> written_;
};

}  // namespace neuron_sim
