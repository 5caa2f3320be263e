#include "ops/graph/round_at_source.h"

#include <algorithm>
#include <optional>

#include "ops/graph/tensor_match.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {
namespace {

/// Whether a kernel copies one dense tensor from fp32 to a narrower floating dtype.
bool only_rounds(const GraphKernel& kernel) {
  const auto* const expression = kernel.traits.as<Expression>();
  if (expression == nullptr || kernel.operands.size() != 1 || kernel.results.size() != 1) {
    return false;
  }
  const GraphTensor &from = kernel.operands[0], &to = kernel.results[0];
  return expression->domain() == Domain::kFloat && expression->is_operand() &&
         from.dtype == Dtype::kFloat32 &&
         (to.dtype == Dtype::kBfloat16 || to.dtype == Dtype::kFloat16) && is_dense(from) &&
         same_order(from, to);
}

class Rounding {
 public:
  Rounding(std::vector<GraphKernel> kernels, const std::function<bool(size_t memory)>& is_external)
      : kernels_(std::move(kernels)), is_external_(is_external) {}

  std::vector<GraphKernel> run() && {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (!only_rounds(kernels_[i])) continue;
      const std::optional<size_t> source = source_of(i);
      if (!source) continue;
      GraphTensor& result = kernels_[*source].results[0];
      const GraphTensor& rounded = kernels_[i].results[0];
      result.memory = rounded.memory;
      result.byte_offset = rounded.byte_offset;
      result.dtype = rounded.dtype;
      kernels_[i] = {};
    }
    std::erase_if(kernels_, [](const GraphKernel& kernel) { return kernel.results.empty(); });
    return std::move(kernels_);
  }

 private:
  /// The kernel that may write the result of cast `cast` itself.
  std::optional<size_t> source_of(size_t cast) const {
    const GraphTensor &from = kernels_[cast].operands[0], &to = kernels_[cast].results[0];
    for (size_t i = cast; i-- > 0;) {
      const GraphKernel& kernel = kernels_[i];
      if (!touches(kernel.results, from)) {
        // Nothing in between may read what would be gone, or touch what is written earlier.
        if (touches(kernel.operands, from) || touches(kernel.operands, to) ||
            touches(kernel.results, to)) {
          return std::nullopt;
        }
        continue;
      }
      const bool fits = kernel.traits.rounds_result && kernel.results[0].memory == from.memory &&
                        kernel.results[0].byte_offset == from.byte_offset &&
                        kernel.results[0].dtype == from.dtype &&
                        kernel.results[0].end() == from.end() && is_dense(kernel.results[0]) &&
                        kernel.operands[0].dtype == to.dtype && !touches(kernel.operands, to);
      if (!fits || is_read_after(kernels_, cast, from, is_external_)) return std::nullopt;
      return i;
    }
    return std::nullopt;
  }

  std::vector<GraphKernel> kernels_;
  const std::function<bool(size_t memory)>& is_external_;
};

}  // namespace

std::vector<GraphKernel> round_at_source(std::vector<GraphKernel> kernels,
                                         const std::function<bool(size_t memory)>& is_external) {
  return Rounding(std::move(kernels), is_external).run();
}

void drop_unread_results(std::vector<GraphKernel>& kernels,
                         const std::function<bool(size_t memory)>& is_external) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::vector<GraphTensor>& results = kernels[i].results;
    const size_t needed = kernels[i].traits.needed_results.value_or(results.size());
    while (results.size() > needed && !is_read_after(kernels, i, results.back(), is_external)) {
      results.pop_back();
    }
  }
}

}  // namespace neuron_sim
