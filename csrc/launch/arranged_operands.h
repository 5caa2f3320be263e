#pragma once
// Operands that launches one after another find unchanged, such as weights, in the order in which
// their kernel loads them best: what rearranges them on the chip is computed once, and timed as
// often as the kernel runs.

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "device/memory/scratch_memory.h"
#include "device/runtime/kernel.h"

namespace neuron_sim {

/// An operand of a kernel: the elements of a tensor as the kernel sees them.
struct OperandElements {
  const at::Tensor& tensor;
  const std::byte* begin = nullptr;  ///< of the first element, on the host
  at::IntArrayRef sizes, strides;    ///< elements; none overlap
  int itemsize = 4;
  at::IntArrayRef order;  ///< dimensions from the slowest to the fastest, as the kernel loads best
};

/// An operand copied without gaps into that order, and a kernel with the same results that takes
/// the copy.
struct ArrangedOperand {
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<const ScratchMemory> elements;
};

/// Builds the program of a kernel whose operand has these strides (elements).
using BuildArranged =
    c10::function_ref<std::shared_ptr<const Program>(at::IntArrayRef strides, int64_t bytes)>;

/// The arranged operand of `kernel`, from the second launch on in a row that finds the bytes as the
/// one before; empty for others, for less than 64 KiB and while copies of other tensors that still
/// live take 256 MiB. Writes to the tensor are seen by its WriteWatch. Thread safe.
std::optional<ArrangedOperand> arranged_operand(const std::shared_ptr<const Kernel>& kernel,
                                                const OperandElements& operand,
                                                BuildArranged build);

}  // namespace neuron_sim
