#pragma once
// How kernels on planes (the last two dimensions of images) are cut: planes on partitions, several
// of them side by side when they are small, bands of rows and panels of columns when they are not.

#include <functional>

#include "ops/contract/hbm_tensor.h"

namespace neuron_sim {

/// A rectangle of a plane.
struct PlaneWindow {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

/// Planes of one tile: [partitions, group] of them, of every tensor.
struct PlanePiece {
  int64_t partitions = 0, group = 0;
  Affine turn;                   ///< counts pieces, to turn rings
  std::vector<Affine> starts;    ///< elements before the first plane, by tensor
  std::vector<int64_t> strides;  ///< from plane to plane, by tensor

  /// [partitions, group, rows, columns] of tensor `index`, which is [N, C, H, W]; a fifth dimension
  /// stays whole.
  View view(const HbmTensor& tensor, size_t index, const PlaneWindow& window) const;
  /// The first [partitions, group, rows, columns] of a tile [partitions, elements], dense.
  View cut(const View& tile, int64_t rows, int64_t columns) const;
};

/// The planes of tensors [N, C, ...] of equal N and C, none of them empty.
class PlaneTiles {
 public:
  /// At most `group` planes in a partition.
  PlaneTiles(const Limits& limits, std::span<const HbmTensor> tensors, int64_t group);

  int64_t partitions() const { return partitions_; }
  int64_t group() const { return group_; }
  void for_each(Builder& builder, const std::function<void(const PlanePiece&)>& body) const;

 private:
  struct Run {
    int64_t size;
    std::vector<int64_t> strides;
  };
  void emit_planes(Builder& builder, const std::vector<Affine>& starts, const Affine& number,
                   const std::function<void(const PlanePiece&)>& body) const;

  std::vector<Run> outer_;
  Run planes_;
  int64_t partitions_ = 1, group_ = 1;
};

/// Sizes of the output that one tile holds.
struct PlaneBands {
  int64_t rows, columns, group;
};

/// Bytes per partition that a plane's tiles of that many output rows and columns take.
using PlaneBytes = std::function<int64_t(int64_t rows, int64_t columns)>;

/// Whole planes if they fit `budget` bytes, else bands of rows, else rows in panels of columns;
/// `planes` in all. KernelError named `op` when a single output does not fit.
PlaneBands plan_bands(const Architecture& architecture, std::string_view op, int64_t rows,
                      int64_t columns, int64_t planes, const PlaneBytes& bytes);

}  // namespace neuron_sim
