#include "ops/pointwise/layout.h"

#include <algorithm>
#include <numeric>

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr size_t kFreeDimensions = 3;  // from HBM; one more holds grouped rows
constexpr int64_t kShortRow = 128;     // fewest elements that one descriptor should move

std::vector<std::vector<int64_t>> strides_by_tensor(std::span<const HbmTensor> tensors) {
  std::vector<std::vector<int64_t>> strides;
  for (const HbmTensor& tensor : tensors) strides.push_back(tensor.strides);
  return strides;
}

}  // namespace

/// The state of the loops outside of rows and columns.
struct PointwiseLayout::Position {
  SharedDimension rows;
  std::vector<SharedDimension> free;
  std::vector<Affine> starts;
  Affine turn = 0;
};

PointwiseLayout::PointwiseLayout(const Limits& limits, std::span<const HbmTensor> tensors,
                                 int64_t elements)
    : tensors_(tensors.size()),
      partitions_(limits.partitions),
      elements_(elements),
      dimensions_(collapse(tensors.front().shape, strides_by_tensor(tensors))) {
  for (const HbmTensor& tensor : tensors) {
    require(tensor.shape == tensors.front().shape, "tensors of a pointwise kernel have one shape");
  }
  elements_ = std::min(elements_, elements_of(dimensions_));
}

/// Elements per row when a dimension of `elements` is cut: enough rows for all partitions, rows
/// not too short for a descriptor, and a divisor if there is one nearby.
int64_t PointwiseLayout::row_length(int64_t elements) const {
  const int64_t shortest = std::min({kShortRow, elements, elements_});
  const int64_t wanted = std::clamp(ceiling(elements, partitions_), shortest, elements_);
  for (int64_t length = wanted; length <= std::min(2 * wanted, elements_); ++length) {
    if (elements % length == 0) return length;
  }
  for (int64_t length = wanted; 2 * length >= wanted && length > 0; --length) {
    if (elements % length == 0) return length;
  }
  return wanted;
}

void PointwiseLayout::for_each(Builder& builder, const Body& begin, const Body& body) const {
  const std::vector<Affine> starts(tensors_, 0);
  const SharedDimension& inner = dimensions_.back();
  const size_t outer = dimensions_.size() - 1;
  const int64_t rows = outer == 0 ? 1 : dimensions_[largest(dimensions_, outer)].size;
  if (2 * rows >= partitions_ || inner.size < 2 * kShortRow) {
    std::vector<SharedDimension> dimensions = dimensions_;
    if (outer == 0) dimensions.insert(dimensions.begin(), {1, std::vector<int64_t>(tensors_, 0)});
    return emit_region(builder, std::move(dimensions), starts, begin, body);
  }
  const int64_t length = row_length(inner.size);
  const auto part = [&](int64_t count, int64_t size) {
    std::vector<SharedDimension> dimensions = dimensions_;
    dimensions.back() = {count, inner.strides};
    for (int64_t& stride : dimensions.back().strides) stride *= length;
    dimensions.push_back({size, inner.strides});
    return dimensions;
  };
  const int64_t full = inner.size / length, rest = inner.size % length;
  emit_region(builder, part(full, length), starts, begin, body);
  if (rest > 0) {
    emit_region(builder, part(1, rest), moved(starts, inner, full * length), begin, body);
  }
}

/// The suffix of dimensions that lies in the free ones of a tile: of those that a tile has room
/// for, the one with the largest tiles. Of images [N, C, H * W] with many channels it is H * W
/// alone.
size_t PointwiseLayout::first_free_dimension(const std::vector<SharedDimension>& dimensions) const {
  size_t best = 0;
  int64_t most = 0, inner = 1;
  for (size_t first = dimensions.size() - 1; first > 0; --first) {
    const bool fits = inner == 1 || inner * 4 <= elements_;
    if (!fits || dimensions.size() - first > kFreeDimensions) break;
    inner *= dimensions[first].size;
    const int64_t rows = dimensions[largest(dimensions, first)].size;
    const int64_t group =
        std::clamp<int64_t>(elements_ / inner, 1, std::max<int64_t>(rows / partitions_, 1));
    const int64_t tile = std::min(rows, partitions_) * std::min(inner * group, elements_);
    if (tile < most) continue;
    best = first;
    most = tile;
  }
  return best;
}

/// Loops over all dimensions except the partition dimension and the free ones.
void PointwiseLayout::emit_region(Builder& builder, std::vector<SharedDimension> dimensions,
                                  const std::vector<Affine>& starts, const Body& begin,
                                  const Body& body) const {
  const size_t first_free = first_free_dimension(dimensions);
  const size_t partition = largest(dimensions, first_free);
  const std::function<void(size_t, const std::vector<Affine>&, const Affine&)> descend =
      [&](size_t dimension, const std::vector<Affine>& position, const Affine& turn) {
        if (dimension == partition) return descend(dimension + 1, position, turn);
        if (dimension < first_free) {
          return builder.loop(dimensions[dimension].size, [&](const Affine& index) {
            descend(dimension + 1, moved(position, dimensions[dimension], index),
                    turn * dimensions[dimension].size + index);
          });
        }
        const std::vector<SharedDimension> free(
            dimensions.begin() + static_cast<std::ptrdiff_t>(first_free), dimensions.end());
        emit_rows(builder, {dimensions[partition], free, position, turn}, begin, body);
      };
  descend(0, starts, 0);
}

void PointwiseLayout::emit_rows(Builder& builder, const Position& position, const Body& begin,
                                const Body& body) const {
  const SharedDimension& columns = position.free.front();
  const int64_t step = std::max<int64_t>(1, elements_ / elements_of(position.free, 1));
  for_tiles(builder, columns.size, step, [&](const Affine& first, int64_t count, const Affine& i) {
    Position cut = position;
    cut.free.front().size = count;
    cut.starts = moved(position.starts, columns, first);
    const int64_t rows = position.rows.size;
    const int64_t group = std::clamp<int64_t>(elements_ / elements_of(cut.free), 1,
                                              std::max<int64_t>(rows / partitions_, 1));
    const int64_t grouped = group == 1 ? 0 : rows / (partitions_ * group) * partitions_ * group;
    cut.turn = position.turn * ceiling(columns.size, step) + i;
    if (grouped > 0) emit_run(builder, cut, 0, grouped, group, begin, body);
    if (rows > grouped) emit_run(builder, cut, grouped, rows - grouped, 1, begin, body);
  });
}

void PointwiseLayout::emit_run(Builder& builder, const Position& position, int64_t first_row,
                               int64_t rows, int64_t group, const Body& begin,
                               const Body& body) const {
  const int64_t step = partitions_ * group;
  const auto piece = [&](const Affine& row, int64_t count, const Affine& turn) {
    PointwisePiece result;
    result.turn = turn;
    result.starts = moved(position.starts, position.rows, row + first_row);
    result.sizes = {count / group};
    if (group > 1) result.sizes.push_back(group);
    for (const SharedDimension& dimension : position.free) result.sizes.push_back(dimension.size);
    for (size_t t = 0; t < tensors_; ++t) {
      std::vector<int64_t> steps{position.rows.strides[t] * group};
      if (group > 1) steps.push_back(position.rows.strides[t]);
      for (const SharedDimension& dimension : position.free) {
        steps.push_back(dimension.strides[t]);
      }
      result.steps.push_back(std::move(steps));
    }
    return result;
  };
  const int64_t pieces = ceiling(rows, step);
  builder.scope([&] {
    begin(piece(0, std::min(rows, step), position.turn));
    for_tiles(builder, rows, step, [&](const Affine& row, int64_t count, const Affine& index) {
      body(piece(row, count, position.turn * pieces + index));
    });
  });
}

}  // namespace neuron_sim
