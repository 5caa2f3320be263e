#include "ops/blocks/plane_tiles.h"

#include <algorithm>

#include "device/base/errors.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

// Size per partition beyond which longer instructions gain nothing.
constexpr int64_t kTileBytes = int64_t{48} * 1024;

}  // namespace

View PlanePiece::view(const HbmTensor& tensor, size_t index, const PlaneWindow& window) const {
  std::vector<int64_t> sizes{partitions, group, window.rows, window.columns};
  std::vector<int64_t> steps{strides[index] * group, strides[index], tensor.strides[2],
                             tensor.strides[3]};
  for (size_t d = 4; d < tensor.shape.size(); ++d) {
    sizes.push_back(tensor.shape[d]);
    steps.push_back(tensor.strides[d]);
  }
  return tensor.view(sizes, steps,
                     starts[index] + window.row * tensor.strides[2] +
                         window.column * tensor.strides[3]);
}

View PlanePiece::cut(const View& tile, int64_t rows, int64_t columns) const {
  return tile.slice(0, 0, partitions)
      .slice(1, 0, group * rows * columns)
      .split(1, group, rows * columns)
      .split(2, rows, columns);
}

PlaneTiles::PlaneTiles(const Limits& limits, std::span<const HbmTensor> tensors, int64_t group) {
  std::vector<std::vector<int64_t>> strides;
  for (const HbmTensor& tensor : tensors) {
    strides.push_back({tensor.strides[0], tensor.strides[1]});
  }
  auto dimensions = collapse({tensors[0].shape[0], tensors[0].shape[1]}, strides);
  // The larger one lies on partitions.
  if (dimensions.size() == 2 && dimensions[0].size > dimensions[1].size) {
    std::swap(dimensions[0], dimensions[1]);
  }
  planes_ = {dimensions.back().size, dimensions.back().strides};
  if (dimensions.size() == 2) outer_.push_back({dimensions[0].size, dimensions[0].strides});
  group_ = std::clamp<int64_t>(ceiling(planes_.size, limits.partitions), 1, group);
  partitions_ = std::min(limits.partitions, ceiling(planes_.size, group_));
}

void PlaneTiles::for_each(Builder& builder,
                          const std::function<void(const PlanePiece&)>& body) const {
  const std::vector<Affine> origin(planes_.strides.size(), Affine(0));
  if (outer_.empty()) return emit_planes(builder, origin, 0, body);
  builder.loop(outer_[0].size, [&](const Affine& i) {
    std::vector<Affine> starts = origin;
    for (size_t t = 0; t < starts.size(); ++t) starts[t] += i * outer_[0].strides[t];
    emit_planes(builder, starts, i, body);
  });
}

void PlaneTiles::emit_planes(Builder& builder, const std::vector<Affine>& starts,
                             const Affine& number,
                             const std::function<void(const PlanePiece&)>& body) const {
  const int64_t tile = partitions_ * group_;
  const int64_t full = planes_.size / tile, rest = planes_.size % tile;
  const int64_t rows = rest / group_, left = rest % group_;
  const int64_t pieces = full + (rows > 0 ? 1 : 0) + (left > 0 ? 1 : 0);
  const auto emit = [&](const Affine& first, const Affine& index, int64_t partitions,
                        int64_t group) {
    PlanePiece piece{partitions, group, number * pieces + index, starts, planes_.strides};
    for (size_t t = 0; t < piece.starts.size(); ++t) {
      piece.starts[t] += first * planes_.strides[t];
    }
    body(piece);
  };
  builder.loop(full, [&](const Affine& i) { emit(i * tile, i, partitions_, group_); });
  if (rows > 0) emit(full * tile, full, rows, group_);
  if (left > 0) emit(full * tile + rows * group_, full + (rows > 0 ? 1 : 0), 1, left);
}

PlaneBands plan_bands(const Architecture& architecture, std::string_view op, int64_t rows,
                      int64_t columns, int64_t planes, const PlaneBytes& bytes) {
  const int64_t budget = architecture.limits.sbuf_usable.count - 4096;
  PlaneBands bands{rows, columns, 1};
  while (bytes(bands.rows, bands.columns) > budget) {
    if (bands.rows > 1) {
      bands.rows = ceiling(bands.rows, 2);
    } else if (bands.columns > 1) {
      bands.columns = ceiling(bands.columns, 2);
    } else {
      fail(text(op, ": the inputs of one output take ", bytes(1, 1),
                " bytes per partition, more than the ", budget, " bytes of sbuf on ",
                architecture.name, "."),
           ErrorKind::kOutOfMemory);
    }
  }
  const int64_t plane = std::max<int64_t>(bytes(bands.rows, bands.columns), 1);
  bands.group =
      std::clamp<int64_t>(kTileBytes / plane, 1, ceiling(planes, architecture.limits.partitions));
  return bands;
}

}  // namespace neuron_sim
