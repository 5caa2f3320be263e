#include "device/isa/tensor/product_rate.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "device/base/errors.h"
#include "device/isa/tensor/tile_multiply.h"

namespace neuron_sim {
namespace {

constexpr int64_t kColumns = 128, kDepth = 128, kElements = 512;

/// Seconds of the fastest of some products.
double product_seconds(const ProductKernel& kernel, bool bf16, int runs) {
  const std::vector<float> stationary(kDepth * kColumns, 1.0F), moving(kDepth * kElements, 1.0F);
  std::vector<float> target(kColumns * kElements);
  const TileProduct product{.columns = kColumns,
                            .elements = kElements,
                            .depth = kDepth,
                            .stationary = stationary.data(),
                            .stationary_pitch = kColumns,
                            .moving = moving.data(),
                            .moving_pitch = kElements,
                            .target = target.data(),
                            .target_pitch = kElements,
                            .bf16 = bf16};
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run <= runs; ++run) {  // the first one brings code and rows into caches
    const auto start = std::chrono::steady_clock::now();
    multiply_tile(product, kernel);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run > 0) best = std::min(best, taken.count());
  }
  return best;
}

}  // namespace

double product_rate(const ProductKernel& kernel, bool bf16, int runs) {
  return 2e-9 * kColumns * kDepth * kElements / product_seconds(kernel, bf16, runs);
}

const ProductKernel& fastest_product_kernel(std::span<const ProductKernel* const> kernels) {
  require(!kernels.empty(), "there is a kernel to choose");
  if (kernels.size() == 1) return *kernels[0];
  constexpr int kRuns = 3;
  const auto seconds = [](const ProductKernel* kernel) {
    return product_seconds(*kernel, false, kRuns) + product_seconds(*kernel, true, kRuns);
  };
  std::vector<double> taken(kernels.size());
  std::transform(kernels.begin(), kernels.end(), taken.begin(), seconds);
  return *kernels[static_cast<size_t>(std::min_element(taken.begin(), taken.end()) -
                                      taken.begin())];
}

}  // namespace neuron_sim
