#pragma once
// Runs a kernel given by its emit function alone in a program, on host arrays.

#include <cstring>
#include <utility>

#include "ops/contract/kernel.h"
#include "tests/ops/run_op.h"

namespace neuron_sim {

/// A program of one kernel; its arguments are the operands, then the results.
inline BuiltOp build_kernel(const Architecture& architecture, const EmitKernel& emit,
                            const std::vector<TensorSpec>& operands,
                            const std::vector<TensorSpec>& results) {
  Builder builder("kernel", architecture);
  std::vector<HbmTensor> inputs, outputs;
  for (const TensorSpec& spec : operands) {
    inputs.push_back(argument_tensor(builder, text("operand", inputs.size()), spec));
  }
  for (const TensorSpec& spec : results) {
    outputs.push_back(argument_tensor(builder, text("result", outputs.size()), spec));
  }
  emit(builder, inputs, outputs);
  return {builder.finish(), results.front(), {results.begin() + 1, results.end()}};
}

/// The results of the kernel for these operands. `allowed`: what the checker may find.
inline std::vector<HostTensor> run_kernel(const Architecture& architecture, const EmitKernel& emit,
                                          const std::vector<HostTensor*>& operands,
                                          const std::vector<TensorSpec>& results,
                                          const std::vector<Rule>& allowed = {}) {
  std::vector<TensorSpec> specs;
  for (const HostTensor* operand : operands) specs.push_back(operand->spec());
  return run_outputs(build_kernel(architecture, emit, specs, results), operands, allowed);
}

/// Runs a kernel that writes its operands; its result is not used.
inline void run_in_place(const Architecture& architecture, const EmitKernel& emit,
                         const std::vector<HostTensor*>& operands, std::vector<Rule> allowed = {}) {
  allowed.push_back(Rule::kUnwrittenOutput);
  run_kernel(architecture, emit, operands, {{{1}, {}}}, allowed);
}

/// Instructions of that name in the program.
inline int64_t count_of(const Program& program, std::string_view instruction) {
  int64_t count = 0;
  for (const Instruction& candidate : program.instructions) {
    count += candidate.type->name == instruction;
  }
  return count;
}

/// Dense strides of `shape` with its dimensions laid out in `order`, slowest first; those in
/// `repeated` have stride 0.
inline std::vector<int64_t> permuted_strides(const std::vector<int64_t>& shape,
                                             const std::vector<size_t>& order,
                                             const std::vector<bool>& repeated = {}) {
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (!repeated.empty() && repeated[order[i]]) continue;
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

/// Random shapes and layouts, the same in every run.
class RandomLayouts {
 public:
  explicit RandomLayouts(unsigned seed) : generator_(seed) {}
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator_() % static_cast<uint64_t>(high - low + 1));
  }
  /// Up to `rank` sizes of at most `elements` altogether.
  std::vector<int64_t> shape(int64_t rank, int64_t elements) {
    std::vector<int64_t> sizes;
    int64_t left = elements;
    const int64_t count = number(0, rank);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t most = number(0, 3) == 0 ? left : std::min<int64_t>(left, 9);
      sizes.push_back(number(1, std::max<int64_t>(most, 1)));
      left /= sizes.back();
    }
    return sizes;
  }
  /// Any order of dimensions; some repeat, when they may.
  std::vector<int64_t> strides(const std::vector<int64_t>& shape, bool may_repeat) {
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<size_t>(number(0, static_cast<int64_t>(i) - 1))]);
    }
    std::vector<bool> repeated(shape.size(), false);
    for (size_t i = 0; may_repeat && i < shape.size(); ++i) repeated[i] = number(0, 3) == 0;
    return permuted_strides(shape, order, repeated);
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace neuron_sim
