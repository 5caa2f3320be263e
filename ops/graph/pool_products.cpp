#include "ops/graph/pool_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/graph/kernels/tensor_match.h"
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

}  // namespace

void pool_products(Graph& graph) {
  join_only_readers(graph, [&](const GraphKernel& kernel, const GraphKernel& reader) {
    std::optional<GraphKernel> result;
    const bool pools = reader.traits.as<PoolingWindows>() && reader.results.size() == 1;
    if (pools && kernel.results.size() == 1) result = joined(kernel, reader);
    return result && can_emit(*result, graph.architecture) ? result : std::nullopt;
  });
}

}  // namespace neuron_sim
