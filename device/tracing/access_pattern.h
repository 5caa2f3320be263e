#pragma once
// The access pattern of a view, as device/operand/view.h takes it.

#include <vector>

#include "device/operand/view.h"
#include "device/tracing/tensor_view.h"

namespace neuron_sim::tracing {

/// Rows of a tensor in HBM that a tile of indices selects, and the elements between them; `rows` is
/// negative without such a tile.
struct IndexedRows {
  int64_t rows = -1;
  int64_t stride = 0;
};

/// Whether block dimensions come before the partitions: no instruction reaches them at once.
bool has_blocks(const TensorView& view);

/// Appends the sizes and steps of a view without blocks. Of more than kMaximumRank dimensions those
/// are merged that can be, but the first one of a tile or of indexed rows.
void append_access(const TensorView& view, const IndexedRows& indexed,
                   std::vector<Dimension>& dimensions);

/// Whether instructions on parts of these dimensions can have the View that the whole cannot.
bool is_splittable(const std::vector<Dimension>& dimensions);

/// Merges the dimensions from `first` on into as few as possible, in the same element order; at
/// least one is left.
void merge(std::vector<Dimension>& dimensions, size_t first);

}  // namespace neuron_sim::tracing
