#pragma once
// How the elements of a pointwise kernel are cut into tiles.

#include <functional>

#include "device/arch/architecture.h"
#include "ops/blocks/collapse.h"
#include "ops/contract/hbm_tensor.h"

namespace neuron_sim {

/// One tile: the same sizes for every tensor, steps and start (elements) of each.
struct PointwisePiece {
  std::vector<int64_t> sizes;  ///< partitions, then one to four free dimensions
  std::vector<std::vector<int64_t>> steps;
  std::vector<Affine> starts;
  Affine turn = 0;  ///< counts tiles, to rotate rings

  View view(const HbmTensor& tensor, size_t index) const {
    return tensor.view(sizes, steps[index], starts[index]);
  }
  /// The tensor repeats along partitions, so all pieces of a run have the same tile of it.
  bool is_invariant(size_t index) const { return steps[index][0] == 0; }
};

/// Merges the dimensions that all tensors share, then puts one on partitions, a suffix into the
/// free dimensions, and the others into loops. Short rows are grouped, several to a partition;
/// long ones are cut, and a long innermost dimension fills the partitions that no other does.
class PointwiseLayout {
 public:
  /// Tensors of equal shape; tiles of at most `elements` per partition.
  PointwiseLayout(const Limits& limits, std::span<const HbmTensor> tensors, int64_t elements);

  int64_t partitions() const { return partitions_; }
  int64_t tile_elements() const { return elements_; }

  using Body = std::function<void(const PointwisePiece&)>;
  /// Emits the loops. A run is a loop over rows of equal columns: `begin` sees its first piece
  /// before the loop, and no other piece has more rows; `body` sees every piece.
  void for_each(Builder& builder, const Body& begin, const Body& body) const;

 private:
  struct Position;
  void emit_region(Builder& builder, std::vector<SharedDimension> dimensions,
                   const std::vector<Affine>& starts, const Body& begin, const Body& body) const;
  void emit_rows(Builder& builder, const Position& position, const Body& begin,
                 const Body& body) const;
  void emit_run(Builder& builder, const Position& position, int64_t first_row, int64_t rows,
                int64_t group, const Body& begin, const Body& body) const;
  int64_t row_length(int64_t elements) const;
  size_t first_free_dimension(const std::vector<SharedDimension>& dimensions) const;

  size_t tensors_;
  int64_t partitions_, elements_;
  std::vector<SharedDimension> dimensions_;
};

}  // namespace neuron_sim
