#include "ops/graph/kernels/pointwise_chain.h"

#include <algorithm>

#include "ops/contract/kernel.h"
#include "ops/pointwise/compose.h"
#include "ops/pointwise/pointwise.h"

namespace neuron_sim {
namespace {

bool same_place(const GraphTensor& a, const GraphTensor& b) {
  return a.memory == b.memory && a.byte_offset == b.byte_offset && a.dtype == b.dtype;
}

/// Whether a chain may continue with the fp32 (or int32) value of a result instead of its elements.
bool keeps_value(Domain domain, Dtype dtype) {
  if (domain == Domain::kInteger) return dtype == Dtype::kInt32;
  return dtype == Dtype::kFloat32 || dtype == Dtype::kBfloat16 || dtype == Dtype::kFloat16;
}

bool any_of_32_bits(const std::vector<GraphTensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const GraphTensor& tensor) {
    return tensor.dtype == Dtype::kInt32 || tensor.dtype == Dtype::kUint32;
  });
}

/// Whether integers of 32 bits would reach results without passing through fp32, in which they lose
/// bits: a kernel that reads and writes only such integers does not round.
bool skips_rounding(const PointwiseChain& first, const PointwiseChain& second) {
  return first.expression.domain() == Domain::kFloat && any_of_32_bits(first.operands) &&
         any_of_32_bits(second.results);
}

/// Joins two chains; every step fails when the two do not fit.
class Join {
 public:
  Join(const PointwiseChain& first, const PointwiseChain& second)
      : first_(first), second_(second), links_(second.operands.size(), -1) {}

  std::optional<PointwiseChain> run() {
    if (first_.expression.domain() != second_.expression.domain()) return std::nullopt;
    if (skips_rounding(first_, second_)) return std::nullopt;
    if (!find_links() || !links_match()) return std::nullopt;
    chain_.expression = Expression(first_.expression.domain());
    const std::vector<ElementValue> first_values =
        append_steps(chain_.expression, first_.expression, first_inputs());
    const std::vector<ElementValue> second_values =
        append_steps(chain_.expression, second_.expression, second_inputs(first_values));
    add_results(first_, first_values, false);
    add_results(second_, second_values, true);
    add_space();
    return std::move(chain_);
  }

 private:
  /// Finds which operands of the second chain are results of the first one, and shared dimensions.
  bool find_links() {
    for (size_t i = 0; i < second_.operands.size(); ++i) {
      const GraphTensor& operand = second_.operands[i];
      for (size_t r = 0; r < first_.results.size(); ++r) {
        if (!may_overlap(operand, first_.results[r])) continue;
        if (!same_place(operand, first_.results[r])) return false;
        if (!keeps_value(first_.expression.domain(), operand.dtype)) return false;
        if (!spaces_) spaces_ = matched(first_.space, result_index(r), second_.space, i);
        if (!spaces_) return false;
        links_[i] = static_cast<int>(r);
      }
    }
    return spaces_.has_value();
  }

  bool links_match() const {
    for (size_t i = 0; i < links_.size(); ++i) {
      if (links_[i] < 0) continue;
      if (!same_strides(result_index(static_cast<size_t>(links_[i])), i)) return false;
    }
    return true;
  }

  size_t result_index(size_t result) const { return first_.operands.size() + result; }

  bool same_strides(size_t of_first, size_t of_second) const {
    const auto& [a, b] = *spaces_;
    for (size_t d = 0; d < a.size(); ++d) {
      if (a[d].strides[of_first] != b[d].strides[of_second]) return false;
    }
    return true;
  }

  std::vector<ElementValue> first_inputs() {
    std::vector<ElementValue> inputs;
    for (size_t i = 0; i < first_.operands.size(); ++i) {
      inputs.push_back(chain_.expression.input(static_cast<int>(i)));
      chain_.operands.push_back(first_.operands[i]);
      operand_source_.push_back({false, i});
    }
    return inputs;
  }

  std::vector<ElementValue> second_inputs(const std::vector<ElementValue>& first_values) {
    std::vector<ElementValue> inputs;
    for (size_t i = 0; i < second_.operands.size(); ++i) {
      if (links_[i] >= 0) {
        inputs.push_back(first_values[static_cast<size_t>(links_[i])]);
      } else {
        inputs.push_back(chain_.expression.input(static_cast<int>(operand(i))));
      }
    }
    return inputs;
  }

  /// The index in the joined chain of operand `index` of the second one; an equal one of the first
  /// is loaded once for both.
  size_t operand(size_t index) {
    for (size_t known = 0; known < first_.operands.size(); ++known) {
      const bool same =
          same_place(first_.operands[known], second_.operands[index]) && same_strides(known, index);
      if (same) return known;
    }
    chain_.operands.push_back(second_.operands[index]);
    operand_source_.push_back({true, index});
    return chain_.operands.size() - 1;
  }

  void add_results(const PointwiseChain& part, const std::vector<ElementValue>& values,
                   bool of_second) {
    for (size_t r = 0; r < part.results.size(); ++r) {
      chain_.results.push_back(part.results[r]);
      chain_.expression.add_result(values[r]);
      result_source_.push_back({of_second, part.operands.size() + r});
    }
  }

  void add_space() {
    const auto& [a, b] = *spaces_;
    std::vector<Source> sources = operand_source_;
    sources.insert(sources.end(), result_source_.begin(), result_source_.end());
    for (size_t d = 0; d < a.size(); ++d) {
      SharedDimension dimension{a[d].size, {}};
      for (const Source& source : sources) {
        dimension.strides.push_back((source.of_second ? b : a)[d].strides[source.tensor]);
      }
      chain_.space.push_back(std::move(dimension));
    }
  }

  /// A tensor of one of the two: operands, then results.
  struct Source {
    bool of_second;
    size_t tensor;
  };
  const PointwiseChain& first_;
  const PointwiseChain& second_;
  std::optional<std::pair<IterationSpace, IterationSpace>> spaces_;
  std::vector<int> links_;  ///< per operand of the second: the result of the first, or -1
  std::vector<Source> operand_source_, result_source_;
  PointwiseChain chain_;
};

}  // namespace

GraphKernel PointwiseChain::kernel(std::string name) const {
  GraphKernel kernel{std::move(name), {}, operands, results};
  kernel.traits.set(expression);
  for (size_t t = 0; t < operands.size() + results.size(); ++t) {
    GraphTensor& tensor =
        t < operands.size() ? kernel.operands[t] : kernel.results[t - operands.size()];
    tensor.shape = sizes_of(space);
    tensor.strides = strides_of(space, t);
  }
  kernel.emit = with_options(emit_pointwise, expression);
  return kernel;
}

PointwiseChain PointwiseChain::with_results(const std::vector<bool>& kept) const {
  PointwiseChain chain{{}, operands, {}, Expression(expression.domain())};
  std::vector<ElementValue> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(chain.expression.input(static_cast<int>(i)));
  }
  const std::vector<ElementValue> values = append_steps(chain.expression, expression, inputs);
  for (size_t r = 0; r < results.size(); ++r) {
    if (!kept[r]) continue;
    chain.results.push_back(results[r]);
    chain.expression.add_result(values[r]);
  }
  for (const SharedDimension& dimension : space) {
    SharedDimension copy{dimension.size, {}};
    for (size_t t = 0; t < dimension.strides.size(); ++t) {
      if (t < operands.size() || kept[t - operands.size()]) {
        copy.strides.push_back(dimension.strides[t]);
      }
    }
    chain.space.push_back(std::move(copy));
  }
  return chain;
}

std::optional<PointwiseChain> chain_of(const GraphKernel& kernel) {
  const auto* const expression = kernel.traits.as<Expression>();
  if (expression == nullptr || kernel.results.empty()) return std::nullopt;
  PointwiseChain chain{{}, kernel.operands, kernel.results, *expression};
  const std::vector<int64_t>& shape = kernel.results.front().shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    SharedDimension dimension{shape[i], {}};
    for (const GraphTensor& operand : kernel.operands) {
      dimension.strides.push_back(operand.strides[i]);
    }
    for (const GraphTensor& result : kernel.results) dimension.strides.push_back(result.strides[i]);
    chain.space.push_back(std::move(dimension));
  }
  return chain;
}

std::optional<PointwiseChain> joined(const PointwiseChain& first, const PointwiseChain& second) {
  return Join(first, second).run();
}

}  // namespace neuron_sim
