#include "python_bindings/core_module/program/build_kernel.h"

#include "device/base/errors.h"
#include "ops/contract/named_kernel.h"
#include "python_bindings/core_module/program/request.h"

namespace neuron_sim {

Dtype dtype_of_name(const std::string& name_of_dtype) {
  if (const auto dtype = parse_dtype(name_of_dtype)) return *dtype;
  std::vector<std::string_view> names;
  for (int i = 0; i < kDtypeCount; ++i) names.push_back(name(static_cast<Dtype>(i)));
  fail(text("dtype '", name_of_dtype, "' is unknown; allowed: ", listed(names), "."));
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const NamedKernel* kernel : named_kernels()) names.emplace_back(kernel->name());
  return names;
}

std::shared_ptr<const Program> build_kernel(const std::string& kernel,
                                            const std::vector<std::vector<int64_t>>& shapes,
                                            const std::string& dtype,
                                            const std::string& architecture,
                                            const KernelOptions& options) {
  for (const NamedKernel* named : named_kernels()) {
    if (named->name() != kernel) continue;
    Request request(kernel, shapes, dtype, architecture, options);
    const BuiltOp op = named->build(request.architecture(), request.inputs(), request);
    if (!op.program) fail(text("kernel '", kernel, "' has nothing to compute for these shapes."));
    return op.program;
  }
  fail(text("kernel '", kernel, "' is unknown; allowed: ", listed(kernel_names()), "."));
}

}  // namespace neuron_sim
