#pragma once
// Which memory the operator that runs has written: one that is refused after that cannot begin
// again on the CPU.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

namespace neuron_sim {

/// The memory that kernels and copies of this thread write while it lives, also those of operators
/// that the operator calls.
class WrittenMemory {
 public:
  WrittenMemory();
  WrittenMemory(const WrittenMemory&) = delete;
  ~WrittenMemory();

  /// Notes it for all that live on this thread.
  static void note(const at::Tensor& tensor);

  /// c10::Error that names the argument when `op` has written one of its arguments (the last values
  /// of `stack`) that running it again would read: `reason`, why it was refused.
  void check_unchanged(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                       const std::string& reason) const;

 private:
  size_t first_;  ///< of what was written, in the list of this thread
};

}  // namespace neuron_sim
