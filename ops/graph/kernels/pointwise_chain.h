#pragma once
// Pointwise kernels of a graph as one expression over one set of elements.

#include <optional>
#include <vector>

#include "ops/graph/kernels/graph_kernel.h"
#include "ops/graph/kernels/iteration_space.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// A pointwise kernel, or several joined.
struct PointwiseChain {
  IterationSpace space;                        ///< strides of the operands, then of the results
  std::vector<GraphTensor> operands, results;  ///< sizes and strides as their kernels had them
  Expression expression;

  /// The chain as a kernel of that name.
  GraphKernel kernel(std::string name) const;
  /// The chain with only the results that `kept` selects.
  PointwiseChain with_results(const std::vector<bool>& kept) const;
};

/// The chain of one kernel; empty when the kernel is not pointwise.
std::optional<PointwiseChain> chain_of(const GraphKernel& kernel);

/// `first`, then `second`, which reads results of it. Empty when they go over other elements, when
/// `second` reads results of `first` differently or as integers that lose bits, when integers
/// of 32 bits that `first` rounds to fp32 would reach integers that `second` writes without
/// rounding, and when they compute in different domains.
std::optional<PointwiseChain> joined(const PointwiseChain& first, const PointwiseChain& second);

}  // namespace neuron_sim
