#pragma once
// Memory that the running operator has written: one that is rejected after writing cannot start
// over on the CPU.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

namespace neuron_sim {

/// The memory that kernels and copies of this thread write during its lifetime, including nested
/// operators.
class WrittenMemory {
 public:
  WrittenMemory();
  WrittenMemory(const WrittenMemory&) = delete;
  ~WrittenMemory();

  /// The number of instances on this thread: operators with a kernel, one within the other.
  static int depth();
  /// Records it for all instances on this thread.
  static void note(const at::Tensor& tensor);

  /// c10::Error that names the argument when `op` has written one of its arguments (the last values
  /// of `stack`) that a rerun would read. `reason`: why it was rejected.
  void check_unchanged(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                       const std::string& reason) const;

 private:
  size_t first_;  ///< index into this thread's list of written memory
};

}  // namespace neuron_sim
