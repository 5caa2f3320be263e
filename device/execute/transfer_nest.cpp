#include "device/execute/transfer_nest.h"

#include <algorithm>

namespace neuron_sim {
namespace {

using Dimensions = std::array<Dimension, kMaximumCopyRank>;

/// Partitions and free dimensions of an operand, outermost first.
std::span<const Dimension> dimensions_of(const Operand& operand, Dimensions& dimensions) {
  const int64_t unit = operand.memory == MemoryKind::kHbm ? 1 : kPartitionDistance;
  dimensions[0] = {operand.partitions, operand.partition_stride * unit};
  std::copy_n(operand.free.begin(), operand.rank, dimensions.begin() + 1);
  return {dimensions.data(), static_cast<size_t>(operand.rank) + 1};
}

}  // namespace

std::optional<CopyNest> transfer_nest(const Operand& hbm, const Operand& sbuf) {
  Dimensions from{}, to{};
  std::optional<CopyNest> nest = common_nest(dimensions_of(hbm, from), dimensions_of(sbuf, to));
  if (!nest) return std::nullopt;
  const auto end = std::remove_if(nest->axes.begin(), nest->axes.begin() + nest->count,
                                  [](const CopyAxis& axis) { return axis.size == 1; });
  nest->count = static_cast<int>(end - nest->axes.begin());
  std::sort(nest->axes.begin(), end,
            [](const CopyAxis& a, const CopyAxis& b) { return a.target_stride > b.target_stride; });
  int64_t inner = itemsize(sbuf.dtype);
  for (int i = nest->count - 1; i >= 0; --i) {
    const CopyAxis& axis = nest->axis(i);
    if (axis.target_stride < inner) return std::nullopt;
    inner = axis.target_stride * axis.size;
  }
  return nest;
}

bool has_gapless_rows(const Operand& operand) {
  for (int i = operand.rank - 1; i >= 0; --i) {
    const Dimension& dimension = operand.free[static_cast<size_t>(i)];
    if (dimension.size > 1) return dimension.stride == itemsize(operand.dtype);
  }
  return true;
}

OperandInHbm::OperandInHbm(const CopyNest& nest, const Operand& operand, int64_t distance)
    : nest_(nest), operand_(operand) {
  found_ = enter(distance) && replace_dimensions();
}

/// Takes `distance` bytes of SBUF apart into indices of the loops of the transfer.
bool OperandInHbm::enter(int64_t distance) {
  for (int i = 0; i < nest_.count; ++i) {
    const CopyAxis& axis = nest_.axis(i);
    const int64_t index = distance / axis.target_stride;
    if (distance < 0 || index >= axis.size) return false;
    last_[static_cast<size_t>(i)] = index;
    offset_ += index * axis.source_stride;
    distance -= index * axis.target_stride;
  }
  return distance == 0;
}

/// The stride in HBM, after noting how far the dimension goes along its loop.
std::optional<int64_t> OperandInHbm::stride_in_hbm(int64_t size, int64_t stride) {
  if (size == 1 || stride == 0) return 0;
  for (int i = 0; i < nest_.count; ++i) {
    const CopyAxis& axis = nest_.axis(i);
    if (stride < axis.target_stride) continue;
    int64_t& last = last_[static_cast<size_t>(i)];
    last += (size - 1) * (stride / axis.target_stride);
    if (stride % axis.target_stride != 0 || last >= axis.size) return std::nullopt;
    return stride / axis.target_stride * axis.source_stride;
  }
  return std::nullopt;
}

bool OperandInHbm::replace_dimensions() {
  const auto partition =
      stride_in_hbm(operand_.partitions, operand_.partition_stride * kPartitionDistance);
  if (!partition) return false;
  operand_.partition_stride = *partition;
  for (int i = 0; i < operand_.rank; ++i) {
    Dimension& dimension = operand_.free[static_cast<size_t>(i)];
    const auto stride = stride_in_hbm(dimension.size, dimension.stride);
    if (!stride) return false;
    dimension.stride = *stride;
  }
  operand_.memory = MemoryKind::kHbm;
  return true;
}

}  // namespace neuron_sim
