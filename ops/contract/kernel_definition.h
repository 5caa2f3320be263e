#pragma once
// A kernel with everything its callers need: name, tensors, check and emit function.

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/contract/kernel.h"

namespace neuron_sim {

struct FusionTraits;

/// A kernel: one that can be built alone (a custom op, or a part of one) has labels and `results`,
/// one that an operator launches on tensors that it made and checked needs neither.
template <typename Options>
struct KernelDefinition {
  const char* name;
  /// Labels of its operands and results: "x weight -> out". One that ends with a * stands for a
  /// list: weight0, weight1, ...; all lists have the same length. An operand in parentheses decides
  /// the results' shapes alone, and is no argument of the program; launches do without it.
  const char* labels = "";
  /// Checks the operands and options and returns the specs of the results, which are dense; none
  /// when an operand in parentheses is missing. KernelError for what the kernel does not support.
  std::vector<TensorSpec> (*results)(std::span<const TensorSpec> operands,
                                     const Options& options) = nullptr;
  Emit<Options> emit = nullptr;
  /// What graphs may do with it (fusion_traits.h); nullptr: nothing but run it.
  FusionTraits (*traits)(std::span<const TensorSpec> operands, const Options& options) = nullptr;
};

/// The labels of the `count` arguments of a program, see KernelDefinition::labels.
std::vector<std::string> labels_of(std::string_view labels, size_t count);
/// The labels of the operands as they are written, those in parentheses too.
std::vector<std::string> operand_labels(std::string_view labels);

/// Declares a tensor as the next argument of the program, by its shape.
HbmTensor declared_argument(Builder& builder, const std::string& label, const TensorSpec& spec);

/// The kernel as a program by itself; its arguments are the operands, then the results. No program
/// when all results are empty.
BuiltOp build_alone(std::string_view name, std::string_view labels,
                    const Architecture& architecture, std::vector<TensorSpec> operands,
                    const std::vector<TensorSpec>& results, const EmitKernel& emit);
/// Builds a program of `kernel` alone, for operands of these specs.
template <typename Options>
BuiltOp build_alone(const KernelDefinition<Options>& kernel, const Architecture& architecture,
                    const std::vector<TensorSpec>& operands,
                    const std::type_identity_t<Options>& options = {}) {
  return build_alone(kernel.name, kernel.labels, architecture, operands,
                     kernel.results(operands, options), with_options(kernel.emit, options));
}

}  // namespace neuron_sim
