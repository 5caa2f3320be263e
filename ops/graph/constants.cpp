#include "ops/graph/constants.h"

#include <algorithm>
#include <set>
#include <utility>

namespace neuron_sim {
namespace {

/// Whether two elements share memory other than by a stride of 0.
bool elements_overlap(const GraphTensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, size
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] > 1 && tensor.strides[i] != 0) {
      dimensions.emplace_back(tensor.strides[i], tensor.shape[i]);
    }
  }
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

/// Which kernels depend on constants alone.
class Dependence {
 public:
  Dependence(const std::vector<GraphKernel>& kernels,
             const std::function<bool(size_t memory)>& is_constant,
             const std::function<bool(size_t memory)>& is_fresh)
      : is_constant_(is_constant), is_fresh_(is_fresh) {
    // A kernel of other values that writes a memory makes all kernels that write it such kernels,
    // which may make others such kernels in turn.
    for (size_t known = 1; known != varying_.size();) {
      known = varying_.size();
      classify(kernels);
    }
  }

  bool constant(size_t kernel) const { return constant_[kernel]; }
  /// Whether the contents of the memory are constants wherever a kernel reads them.
  bool holds(size_t memory) const {
    return folded_.count(memory) > 0 || (is_constant_(memory) && varying_.count(memory) == 0);
  }
  /// The memories that kernels of constants write.
  const std::set<size_t>& folded() const { return folded_; }

 private:
  void classify(const std::vector<GraphKernel>& kernels) {
    constant_.clear();
    folded_.clear();
    for (const GraphKernel& kernel : kernels) {
      const auto reads = [&](const GraphTensor& operand) { return holds(operand.memory); };
      const auto writes = [&](const GraphTensor& result) {
        return is_fresh_(result.memory) && varying_.count(result.memory) == 0;
      };
      constant_.push_back(std::all_of(kernel.operands.begin(), kernel.operands.end(), reads) &&
                          std::all_of(kernel.results.begin(), kernel.results.end(), writes));
      std::set<size_t>& written = constant_.back() ? folded_ : varying_;
      for (const GraphTensor& result : kernel.results) written.insert(result.memory);
    }
  }

  const std::function<bool(size_t memory)>& is_constant_;
  const std::function<bool(size_t memory)>& is_fresh_;
  std::vector<bool> constant_;  ///< per kernel
  std::set<size_t> folded_, varying_;
};

/// Stores operands in the order that their kernels ask for, each once.
class Arrangement {
 public:
  explicit Arrangement(size_t next_memory) : next_memory_(next_memory) {}

  void arrange(GraphTensor& operand, const std::vector<int64_t>& order) {
    for (size_t i = 0; i < arranged_.size(); ++i) {
      if (arranged_[i].source != operand || orders_[i] != order) continue;
      operand = arranged_[i].arranged;
      return;
    }
    const auto arranged = in_order(operand, order, next_memory_);
    if (!arranged) return;
    arranged_.push_back({operand, *arranged});
    orders_.push_back(order);
    operand = *arranged;
    ++next_memory_;
  }
  std::vector<ArrangedConstant> arranged() && { return std::move(arranged_); }

 private:
  size_t next_memory_;
  std::vector<ArrangedConstant> arranged_;
  std::vector<std::vector<int64_t>> orders_;  ///< of `arranged_`
};

}  // namespace

std::optional<GraphTensor> in_order(const GraphTensor& tensor, std::span<const int64_t> order,
                                    size_t memory) {
  if (elements_overlap(tensor)) return {};
  GraphTensor arranged = tensor;
  arranged.memory = memory;
  arranged.byte_offset = 0;
  int64_t stride = 1;
  bool same = true;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dimension = static_cast<size_t>(order[i]);
    if (tensor.shape[dimension] == 1 || tensor.strides[dimension] == 0) continue;
    same = same && tensor.strides[dimension] == stride;
    arranged.strides[dimension] = stride;
    stride *= tensor.shape[dimension];
  }
  if (same || stride == 1) return {};
  return arranged;
}

SeparatedKernels separate_constants(std::vector<GraphKernel> kernels,
                                    const std::function<bool(size_t memory)>& is_constant,
                                    const std::function<bool(size_t memory)>& is_fresh,
                                    size_t next_memory) {
  const Dependence dependence(kernels, is_constant, is_fresh);
  SeparatedKernels separated;
  Arrangement arrangement(next_memory);
  for (size_t i = 0; i < kernels.size(); ++i) {
    GraphKernel& kernel = kernels[i];
    for (size_t j = 0; j < kernel.traits.operands.size() && !dependence.constant(i); ++j) {
      const std::vector<int64_t>& order = kernel.traits.operands[j].constant_order;
      if (order.empty() || !dependence.holds(kernel.operands[j].memory)) continue;
      arrangement.arrange(kernel.operands[j], order);
    }
    (dependence.constant(i) ? separated.constant : separated.others).push_back(std::move(kernel));
  }
  separated.arranged = std::move(arrangement).arranged();
  separated.folded.assign(dependence.folded().begin(), dependence.folded().end());
  return separated;
}

}  // namespace neuron_sim
