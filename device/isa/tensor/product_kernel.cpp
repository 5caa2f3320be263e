#include "device/isa/tensor/product_kernel.h"

#include <string>

#include "device/base/errors.h"
#include "device/base/settings.h"

namespace neuron_sim {
namespace {

constexpr const ProductKernel* kKernels[] = {&kAvx512Bf16Product, &kAvx512Product, &kAvx2Product,
                                             &kPortableProduct};

}  // namespace

std::span<const ProductKernel* const> product_kernels() { return kKernels; }

const ProductKernel& product_kernel_named(std::string_view wanted) {
  std::string names;
  for (const ProductKernel* kernel : kKernels) {
    if (!kernel->runs_here()) continue;
    if (wanted.empty() || kernel->name == wanted) return *kernel;
    names += text(names.empty() ? "" : ", ", kernel->name);
  }
  fail(text("NEURON_SIM_PRODUCT_KERNEL is '", wanted, "'; this host runs ", names, "."));
}

const ProductKernel& product_kernel() {
  static const ProductKernel& chosen = product_kernel_named(setting("NEURON_SIM_PRODUCT_KERNEL"));
  return chosen;
}

}  // namespace neuron_sim
