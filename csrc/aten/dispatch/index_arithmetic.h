#pragma once
// Which calls the host side of the simulator runs instead of the device: those that compute int64
// indices or scalars only. A NeuronCore has no 64-bit integers.

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <string>

namespace neuron_sim {

/// The kinds of a call's tensors, arguments and then results.
struct IndexTensors {
  bool all_index_like = true;  ///< each is int64, bool, or a scalar: no dimensions, real
  bool any_int64 = false;
  bool all_scalars = true;
  size_t count = 0;
  at::Layout layout = at::kStrided;  ///< of the last one that is not strided

  /// Takes the tensors of the last `values` of `stack` into account.
  void add(const torch::jit::Stack& stack, size_t values);
  /// Whether the call computes int64 indices or scalars only. Bool tensors alone do not count:
  /// the chip has them.
  bool index_arithmetic() const {
    return all_index_like && count > 0 && (any_int64 || all_scalars);
  }
};

/// Why an operator without a device kernel runs on the CPU: a dtype of its arguments (the last
/// values of `stack`) that a NeuronCore lacks, or the missing kernel.
std::string reason_without_kernel(const c10::FunctionSchema& op, const torch::jit::Stack& stack);

}  // namespace neuron_sim
