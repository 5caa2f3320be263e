#include "ops/blocks/block_sums.h"

#include <cmath>

#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

int64_t root(int64_t elements) {
  return static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(elements))));
}

/// The length of the blocks of a row, sqrt(elements) to twice that: one that leaves no remainder,
/// whose sum would be a further instruction, if there is one.
int64_t block_length(int64_t elements) {
  const int64_t shortest = root(elements);
  for (int64_t length = shortest; length <= 2 * shortest; ++length) {
    if (elements % length == 0) return length;
  }
  return shortest;
}

/// Whether a dimension and the next lie in memory as one.
bool is_dense(const View& view, int dimension) {
  const Dimension &outer = view.dimension(dimension), &inner = view.dimension(dimension + 1);
  return outer.size == 1 || inner.size == 1 || outer.stride == inner.stride * inner.size;
}

}  // namespace

BlockSums::BlockSums(Builder& builder, int64_t rows, int64_t columns) : builder_(builder) {
  if (columns <= kLongestSum) return;
  partial_ = builder.sbuf("partial_sums", {builder.limits().partitions, rows, root(columns)},
                          Dtype::kFloat32, 2);
}

void BlockSums::emit(TensorReduce reduce, const Affine& turn) const {
  View& data = reduce.data;
  while (reduce.axes > 1 && is_dense(data, data.rank() - 2)) {
    data = data.merge(data.rank() - 2);
    --reduce.axes;
  }
  const int row = data.rank() - 1;  // the dimension
  const int64_t elements = data.size(row);
  const bool splits = reduce.op == AluOp::kAdd && reduce.axes == 1 && data.rank() < kMaximumRank;
  if (!splits || elements <= kLongestSum) return builder_.emit(reduce);
  const int64_t length = block_length(elements), blocks = elements / length;
  const int64_t covered = blocks * length, rest = elements - covered;
  const int64_t rows = data.free_elements() / elements;
  const View partial = partial_.turn(turn)
                           .slice(0, 0, data.partitions())
                           .slice(1, 0, rows)
                           .slice(2, 0, blocks + (rest > 0 ? 1 : 0));
  const auto sum = [&](const View& dst, const View& part) {
    builder_.emit(TensorReduce{.dst = dst, .data = part});
  };
  sum(partial.slice(2, 0, blocks), data.slice(row, 0, covered).split(row, blocks, length));
  if (rest > 0) sum(partial.slice(2, blocks, 1), data.slice(row, covered, rest));
  reduce.data = partial;
  builder_.emit(reduce);
}

}  // namespace neuron_sim
