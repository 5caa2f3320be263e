#pragma once
// Constants of a graph, whose contents are the same in every run: what depends on them alone is
// computed before the runs, and operands are stored in the order in which kernels load them.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// A constant with its elements in another order.
struct ArrangedConstant {
  GraphTensor source;
  GraphTensor arranged;  ///< same sizes and dtype, alone in its memory
  int64_t bytes() const { return arranged.end(); }
};

/// The kernels of a graph, in order, by what they depend on.
struct SeparatedKernels {
  std::vector<GraphKernel> constant;       ///< on constants alone
  std::vector<GraphKernel> others;         ///< on something that may vary
  std::vector<ArrangedConstant> arranged;  ///< operands of `others`
  std::vector<size_t> folded;              ///< memories that `constant` writes
};

/// `tensor` in memory `memory` with its dimensions in `order`, from the slowest to the fastest;
/// repeated dimensions (stride 0) stay repeated. Empty when it lies so already, when elements
/// overlap in memory, and when it has no more than one element.
std::optional<GraphTensor> in_order(const GraphTensor& tensor, std::span<const int64_t> order,
                                    size_t memory);

/// Separates the kernels. The contents of a memory are constants when `is_constant` holds for it,
/// or only kernels of constants write it before it is read, and no kernel of other values writes
/// it. `is_fresh` holds for memories that nothing but these kernels wrote or keeps. Memories of
/// arranged constants are numbered from `next_memory` on.
SeparatedKernels separate_constants(std::vector<GraphKernel> kernels,
                                    const std::function<bool(size_t memory)>& is_constant,
                                    const std::function<bool(size_t memory)>& is_fresh,
                                    size_t next_memory);

}  // namespace neuron_sim
