// Operands of a unit of heads: how they are loaded and stored.

#include <array>

#include "ops/attention/units.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

int64_t head_stride(const HbmTensor& tensor) {
  return tensor.shape[2] > 1 ? tensor.strides[2] : tensor.strides[1];
}

/// Engines start at every 32nd partition.
constexpr int64_t kPartitionGroup = 32;

/// Contiguous along its length and not along its width.
bool lies_turned(const HbmTensor& tensor) {
  return tensor.strides[3] == 1 && tensor.strides[4] != 1 && tensor.shape[3] > 1;
}

}  // namespace

bool HeadOperand::lies_stacked(const Limits& limits, const HbmTensor& tensor, int64_t heads) {
  const int64_t width = tensor.shape[4];
  if (!lies_turned(tensor) || 2 * width > limits.partitions || limits.partitions % width != 0) {
    return false;
  }
  return heads % (limits.partitions / width) == 0 && width % kPartitionGroup == 0 &&
         head_stride(tensor) == width * tensor.strides[4];
}

HeadOperand::HeadOperand(Builder& builder, const HbmTensor& tensor, int64_t heads, Form form,
                         int ring, AttentionTransposer& transposer)
    : builder_(builder),
      tensor_(tensor),
      transposer_(transposer),
      partitions_(builder.limits().partitions),
      heads_(heads),
      length_(tensor.shape[3]),
      width_(tensor.shape[4]),
      head_stride_(head_stride(tensor)),
      stack_(form.stacked ? partitions_ / width_ : 1),
      loads_turned_(form.turned && lies_turned(tensor)) {
  const auto tile = [&](const char* suffix, int64_t columns_of_heads, int64_t rows,
                        int64_t columns) {
    return builder.sbuf(tensor.storage.label() + suffix,
                        {partitions_, columns_of_heads, ceiling(rows, partitions_), columns},
                        tensor.dtype(), ring);
  };
  if (form.rows || !loads_turned_) rows_ = tile("_rows", heads, length_, width_);
  if (form.turned) turned_ = tile("_turned", heads / stack_, width_, length_);
}

int64_t HeadOperand::bytes(const Limits& limits, int64_t length, int64_t width, Dtype dtype,
                           Form form) {
  const int64_t rows = ceiling(length, limits.partitions) * width;
  const int64_t turned = form.turned ? ceiling(width, limits.partitions) * length : 0;
  return (rows + turned) * itemsize(dtype);
}

/// tile [partitions, heads, blocks, sizes[1]] of [sizes[0], sizes[1]] per head, by blocks.
void HeadOperand::load_blocks(const View& tile, const std::array<int64_t, 2>& sizes,
                              const std::array<int64_t, 2>& steps, const Affine& start) {
  const int64_t full = sizes[0] / partitions_, rest = sizes[0] % partitions_;
  if (full > 0) {
    neuron_sim::load(builder_, tile.slice(2, 0, full),
                     tensor_.view({partitions_, heads_, full, sizes[1]},
                                  {steps[0], head_stride_, partitions_ * steps[0], steps[1]},
                                  start));
  }
  if (rest > 0) {
    neuron_sim::load(builder_, tile.slice(0, 0, rest).select(2, full),
                     tensor_.view({rest, heads_, sizes[1]}, {steps[0], head_stride_, steps[1]},
                                  start + full * partitions_ * steps[0]));
  }
}

void HeadOperand::load(const Affine& start, const Affine& turn) {
  const int64_t row = tensor_.strides[3], column = tensor_.strides[4];
  if (rows_.present()) load_blocks(rows_.turn(turn), {length_, width_}, {row, column}, start);
  if (stack_ > 1) {
    neuron_sim::load(builder_, turned_.turn(turn).select(2, 0),
                     tensor_.view({partitions_, heads_ / stack_, length_},
                                  {column, stack_ * head_stride_, row}, start));
  } else if (loads_turned_) {
    load_blocks(turned_.turn(turn), {width_, length_}, {column, row}, start);
  }
}

void HeadOperand::prepare(const Affine& turn) {
  if (!turned_.present() || loads_turned_) return;
  const int64_t full = length_ / partitions_, rest = length_ % partitions_;
  const View rows = rows_.turn(turn);
  for (int64_t first = 0; first < width_; first += partitions_) {
    const int64_t count = std::min(partitions_, width_ - first);
    const auto source = [&](int64_t head, int64_t block, int64_t size) {
      return rows.slice(0, 0, size).select(1, head).select(1, block).slice(1, first, count);
    };
    // [count, heads, length]
    const View target = turned_.turn(turn).slice(0, 0, count).select(2, first / partitions_);
    const bool together = rest == 0 && width_ <= partitions_;
    if (together) {
      transposer_.transpose(target.merge(1).split(1, heads_ * full, partitions_),
                            [&](int64_t j) { return source(j / full, j % full, partitions_); });
    }
    for (int64_t head = 0; head < heads_ && full > 0 && !together; ++head) {
      transposer_.transpose(
          target.select(1, head).slice(1, 0, full * partitions_).split(1, full, partitions_),
          [&](int64_t j) { return source(head, j, partitions_); });
    }
    if (rest > 0) {
      transposer_.transpose(target.slice(2, full * partitions_, rest),
                            [&](int64_t head) { return source(head, full, rest); });
    }
  }
}

BlockedMatrix HeadOperand::rows(int64_t head, const Affine& turn) const {
  return {rows_.turn(turn).select(1, head), length_, width_};
}

BlockedMatrix HeadOperand::turned(int64_t head, const Affine& turn) const {
  const View column = turned_.turn(turn).select(1, head / stack_);
  if (stack_ == 1) return {column, width_, length_};
  return {column.slice(0, head % stack_ * width_, width_), width_, length_};
}

void store_heads(Builder& builder, const View& tile, const HbmTensor& tensor, const Affine& start) {
  const int64_t partitions = tile.size(0), heads = tile.size(1);
  const int64_t length = tensor.shape[3], width = tensor.shape[4];
  const int64_t row = tensor.strides[3], column = tensor.strides[4], step = head_stride(tensor);
  const int64_t full = length / partitions, rest = length % partitions;
  if (full > 0) {
    store(
        builder,
        tensor.view({partitions, heads, full, width}, {row, step, partitions * row, column}, start),
        tile.slice(2, 0, full));
  }
  if (rest > 0) {
    store(builder,
          tensor.view({rest, heads, width}, {row, step, column}, start + full * partitions * row),
          tile.slice(0, 0, rest).select(2, full));
  }
}

}  // namespace neuron_sim
