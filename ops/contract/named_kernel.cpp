#include "ops/contract/named_kernel.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Constants of several files add to it, in any order.
std::vector<const NamedKernel*>& registered() {
  static std::vector<const NamedKernel*> kernels;
  return kernels;
}

/// Refuses a number of operands that `labels` does not allow.
void check_count(std::string_view kernel, std::string_view labels, size_t count) {
  const std::vector<std::string> known = operand_labels(labels);
  const auto is_list = [](const std::string& label) { return label.back() == '*'; };
  const auto lists = static_cast<size_t>(std::count_if(known.begin(), known.end(), is_list));
  if (lists == 0) {
    if (count == known.size()) return;
    fail(text("kernel '", kernel, "' has ", known.size(), " inputs, not ", count, "."));
  }
  const size_t single = known.size() - lists;
  if (count >= known.size() && (count - single) % lists == 0) return;
  std::string names;
  for (const std::string& label : known) names += (names.empty() ? "" : ", ") + label;
  fail(text("kernel '", kernel, "' has the inputs ", names,
            " (*: one or more, as many of each), not ", count, " tensors."));
}

}  // namespace

NamedKernel::NamedKernel(std::string_view name, std::string_view labels, const void* definition,
                         Build build)
    : name_(name), labels_(labels), definition_(definition), build_(build) {
  std::vector<const NamedKernel*>& kernels = registered();
  const auto after = [](std::string_view each, const NamedKernel* kernel) {
    return each < kernel->name();
  };
  kernels.insert(std::upper_bound(kernels.begin(), kernels.end(), name, after), this);
}

BuiltOp NamedKernel::build(const Architecture& architecture,
                           const std::vector<TensorSpec>& operands, OptionReader& reader) const {
  check_count(name_, labels_, operands.size());
  return build_(definition_, architecture, operands, reader);
}

const std::vector<const NamedKernel*>& named_kernels() { return registered(); }

}  // namespace neuron_sim
