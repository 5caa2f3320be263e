#include "device/isa/tensor/product_kernel.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "device/base/errors.h"
#include "device/base/settings.h"
#include "device/isa/tensor/product_rate.h"

namespace neuron_sim {
namespace {

constexpr const ProductKernel* kKernels[] = {
#if defined(__x86_64__)
    &kAmxProduct, &kAvx512Product, &kAvx2Product,
#else
    &kNeonProduct,
#endif
    &kPortableProduct};

}  // namespace

void pack_chains(const RowCopy& rows, void (*copy)(const RowCopy&)) {
  RowCopy chain = rows;
  chain.from_pitch = 2 * rows.from_pitch;
  int64_t first = 0;
  do {
    const int64_t left = rows.depth - first, length = chain_length(left);
    for (int64_t place = 0; place < 2; ++place) {
      chain.from = rows.from + (first + place) * rows.from_pitch;
      chain.depth = std::min(length, (left + 1 - place) / 2);
      copy(chain);
      for (int64_t row = chain.depth; row < length; ++row) {
        std::fill_n(chain.to + row * rows.to_pitch, rows.padded, 0.0F);
      }
      chain.to += length * rows.to_pitch;
    }
    first += kBf16Depth;
  } while (first < rows.depth);
}

void copy_whole_rows(const RowCopy& rows) {
  for (int64_t k = 0; k < rows.depth; ++k) {
    float* to = rows.to + k * rows.to_pitch;
    std::copy_n(rows.from + k * rows.from_pitch, rows.length, to);
    std::fill(to + rows.length, to + rows.padded, 0.0F);
  }
}

void transpose_rows(const RowCopy& rows) {
  for (int64_t i = 0; i < rows.length; ++i) {
    float* to = rows.to + i * rows.to_pitch;
    for (int64_t k = 0; k < rows.depth; ++k) to[k] = rows.from[k * rows.from_pitch + i];
  }
}

std::span<const ProductKernel* const> product_kernels() { return kKernels; }

std::vector<const ProductKernel*> product_kernels_of_host() {
  std::vector<const ProductKernel*> kernels;
  std::copy_if(std::begin(kKernels), std::end(kKernels), std::back_inserter(kernels),
               [](const ProductKernel* kernel) { return kernel->runs_here(); });
  if (kernels.size() > 1) kernels.pop_back();  // the portable one, which is the last
  return kernels;
}

const ProductKernel& product_kernel_named(std::string_view wanted) {
  if (wanted.empty()) return fastest_product_kernel(product_kernels_of_host());
  std::string names;
  for (const ProductKernel* kernel : kKernels) {
    if (!kernel->runs_here()) continue;
    if (kernel->name == wanted) return *kernel;
    names += text(names.empty() ? "" : ", ", kernel->name);
  }
  fail(text("NEURON_SIM_PRODUCT_KERNEL is '", wanted, "'; this host runs ", names, "."));
}

const ProductKernel& product_kernel() {
  static const ProductKernel& chosen = product_kernel_named(setting("NEURON_SIM_PRODUCT_KERNEL"));
  return chosen;
}

}  // namespace neuron_sim
