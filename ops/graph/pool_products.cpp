#include "ops/graph/pool_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/graph/tensor_match.h"
#include "ops/pointwise/expression.h"
#include "ops/pooling/max_pool.h"

namespace neuron_sim {
namespace {

/// Size and distance of windows along one axis that lie inside it and do not overlap; empty for
/// others.
std::optional<std::pair<int64_t, int64_t>> inner_axis(const AxisWindows& axis) {
  const std::vector<AxisWindows::Window>& windows = axis.windows;
  const int64_t kernel = windows.front().count;
  const int64_t stride = windows.size() > 1 ? windows[1].start - windows[0].start : kernel;
  if (axis.dilation != 1 || stride < kernel || (kernel == 1 && stride > 1)) return std::nullopt;
  for (size_t i = 0; i < windows.size(); ++i) {
    const int64_t start = static_cast<int64_t>(i) * stride;
    if (windows[i].start != start || windows[i].count != kernel) return std::nullopt;
    if (start + kernel > axis.extent) return std::nullopt;
  }
  // The kernel that pools has an output for every window with room.
  if ((axis.extent - kernel) / stride + 1 != axis.outputs()) return std::nullopt;
  return std::pair{kernel, stride};
}

std::optional<InnerWindows> inner_windows(const PoolingWindows& windows) {
  const auto rows = inner_axis(windows.rows), columns = inner_axis(windows.columns);
  if (!rows || !columns) return std::nullopt;
  return InnerWindows{{rows->first, columns->first}, {rows->second, columns->second}};
}

/// How the kernel is emitted with pooling; empty when it cannot pool.
EmitPooled pooled_emit(const FusionTraits& traits) {
  if (traits.pooled) return traits.pooled;
  if (!traits.followed) return {};
  return [emit = traits.followed](Builder& builder, HbmTensors operands, HbmTensors results,
                                  const InnerWindows& pooling) {
    Expression sums;
    sums.add_result(sums.input(0));
    emit(builder, operands, {}, results, sums, pooling);
  };
}

/// The kernel that computes the maxima of `pooling` alone; empty when it cannot.
std::optional<GraphKernel> joined(const GraphKernel& kernel, const GraphKernel& pooling) {
  const EmitPooled emit = pooled_emit(kernel.traits);
  const GraphTensor &image = kernel.results.front(), &read = pooling.operands.front();
  if (!emit || image.shape != read.shape || !same_elements(image, read)) return std::nullopt;
  const auto windows = inner_windows(*pooling.traits.as<PoolingWindows>());
  if (!windows) return std::nullopt;
  GraphKernel result = kernel;
  result.results = pooling.results;
  result.traits.followed = nullptr;
  result.traits.pooled = nullptr;
  result.traits.rounds_result = true;
  result.emit = [emit, windows = *windows](Builder& builder, HbmTensors operands,
                                           HbmTensors results) {
    emit(builder, operands, results, windows);
  };
  return result;
}

/// The kernel after `at` that pools its result, and the two joined; empty without one.
std::optional<std::pair<size_t, GraphKernel>> joined_after(
    const std::vector<GraphKernel>& kernels, size_t at,
    const std::function<bool(size_t memory)>& is_external, const Architecture& architecture) {
  if (kernels[at].results.size() != 1) return std::nullopt;
  const std::optional<size_t> reader = only_reader(kernels, at, is_external);
  if (!reader || !kernels[*reader].traits.as<PoolingWindows>()) return std::nullopt;
  if (kernels[*reader].results.size() != 1) return std::nullopt;  // the windows' indices, too
  std::optional<GraphKernel> kernel = joined(kernels[at], kernels[*reader]);
  if (!kernel || !can_emit(*kernel, architecture)) return std::nullopt;
  return std::pair{*reader, std::move(*kernel)};
}

}  // namespace

std::vector<GraphKernel> pool_products(std::vector<GraphKernel> kernels,
                                       const std::function<bool(size_t memory)>& is_external,
                                       const Architecture& architecture) {
  for (size_t at = 0; at < kernels.size(); ++at) {
    auto found = joined_after(kernels, at, is_external, architecture);
    if (!found) continue;
    kernels[at] = std::move(found->second);
    kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(found->first));
  }
  return kernels;
}

}  // namespace neuron_sim
