#include "ops/rows/sorted_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/iota.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/movement/tensor_copy_predicated.h"
#include "ops/blocks/tiles.h"
#include "ops/blocks/transposer.h"
#include "ops/rows/spread_rows.h"

namespace neuron_sim {
namespace {

constexpr int64_t kColumns = 4096;   // of a partition: 42 bytes of SBUF for each
constexpr int64_t kLeastWidth = 64;  // fewer elements on a partition take as long
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t power_of_two(int64_t least) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least)));
}

RowSpread spread_of(int64_t rows, int64_t length, int64_t partitions) {
  const int64_t padded = power_of_two(std::max<int64_t>(length, 2));
  const int64_t shared = partitions / power_of_two(std::min(rows, partitions));
  const int64_t lanes =
      std::max({int64_t{1}, padded / kColumns, std::min(shared, padded / kLeastWidth)});
  const int64_t stacked = lanes > 1 ? 1 : std::min(ceiling(rows, partitions), kColumns / padded);
  return {length, lanes, padded / lanes, stacked};
}

/// Tiles of one load of rows, and the network over them.
class RowSorter {
 public:
  RowSorter(Builder& builder, const SpreadRows& rows, const HbmTensor& operand, bool descending)
      : builder_(builder),
        rows_(rows),
        width_(rows.spread.width),
        padded_(rows.spread.padded()),
        descending_(descending),
        floating_(is_float(operand.dtype())),
        transposer_(builder, Dtype::kFloat32) {
    const int64_t partitions = rows.partitions(), columns = rows.columns();
    block_ = std::min(width_, builder.limits().partitions);
    const auto tile = [&](const char* label, Dtype dtype) {
      return builder.sbuf(label, {partitions, columns}, dtype);
    };
    elements_ = tile("elements", operand.dtype());
    places_ = builder.sbuf("places", {partitions, 2 * columns}, Dtype::kInt32);
    straight_ = {tile("keys", Dtype::kFloat32), tile("key_places", Dtype::kFloat32)};
    if (rows.spread.lanes > 1) {
      const std::vector<int64_t> turned{block_, width_ / block_, partitions};
      for (View& view : turned_) view = builder.sbuf("transposed", turned, Dtype::kFloat32);
      lane_bits_ = builder.sbuf("lane_bits", {partitions, kLaneBits}, Dtype::kUint8);
    }
    const int64_t half = std::max(columns, partitions * width_ / block_) / 2;
    const auto scratch = [&](const char* label, int64_t size) {
      return builder.sbuf(label, {builder.limits().partitions, size}, Dtype::kFloat32);
    };
    masks_ = {scratch("after", 2 * half), scratch("equal", 2 * half), scratch("later", half)};
    for (View& kept : kept_) kept = scratch("kept", half);
    alternating_ = builder.sbuf("alternating", {builder.limits().partitions, 2}, Dtype::kUint8);
  }

  void emit(const HbmTensor& operand, HbmTensors results) {
    load_keys(operand);
    make_directions();
    sort();
    write_results(results);
  }

 private:
  using Pair = std::array<View, 2>;  ///< keys and their places
  static constexpr int64_t kLaneBits = 7;

  double nan_offset() const { return static_cast<double>(descending_ ? -padded_ : padded_); }
  View mask(size_t index, const View& like) const {
    return masks_[index].slice(0, 0, like.partitions()).slice(1, 0, like.free_elements());
  }
  /// A mask of fp32, 1 or 0, as a predicate.
  static View bits(const View& mask) { return mask.reinterpret(Dtype::kUint32); }
  void compare(const View& dst, const View& a, const View& b, AluOp op) {
    builder_.emit(TensorTensor{.dst = dst, .data1 = a, .data2 = b, .op = op});
  }
  void compare(const View& dst, const View& a, double b, AluOp op) {
    builder_.emit(TensorScalar{.dst = dst, .data = a, .op0 = op, .constant0 = b});
  }
  /// places += factor * mask.
  void move_places(const View& chosen, double factor) {
    builder_.emit(ScalarTensorTensor{.dst = straight_[1],
                                     .data = chosen,
                                     .operand1 = straight_[1],
                                     .op0 = AluOp::kMultiply,
                                     .constant0 = factor});
  }

  void load_keys(const HbmTensor& operand) {
    const auto& [keys, places] = straight_;
    const bool pads = padded_ != operand.shape[1];
    if (pads) builder_.emit(Memset{.dst = elements_, .value = 0});
    rows_.for_transfers(operand, elements_,
                        [&](const View& hbm, const View& tile) { load(builder_, tile, hbm); });
    rows_.places(builder_, places);
    const View chosen = mask(0, keys);
    if (pads) {
      compare(chosen, places, static_cast<double>(operand.shape[1]), AluOp::kGreaterEqual);
    }
    const double sign = descending_ ? -1 : 1;
    compare(keys, elements_, sign, AluOp::kMultiply);
    if (pads) {
      builder_.emit(
          TensorCopyPredicated{.dst = keys, .predicate = bits(chosen), .constant = kInfinity});
      move_places(chosen, static_cast<double>(2 * padded_));
    }
    if (!floating_) return;
    const View nan = mask(1, keys);
    compare(nan, elements_, elements_, AluOp::kNotEqual);
    builder_.emit(
        TensorCopyPredicated{.dst = keys, .predicate = bits(nan), .constant = sign * kInfinity});
    move_places(nan, nan_offset());
  }

  /// Sources of the bits that say which blocks are sorted downwards.
  void make_directions() {
    builder_.emit(Iota{.dst = alternating_, .pattern = {{1, 2}}});
    if (!lane_bits_.present()) return;
    const View lanes = places_.slice(1, 0, 1);
    builder_.emit(Iota{.dst = lanes, .pattern = {{1, 1}}, .channel_multiplier = 1});
    for (int64_t bit = 0; (1 << bit) < rows_.spread.lanes; ++bit) {
      const View shifted = places_.slice(1, 1, 1);
      builder_.emit(TensorScalar{.dst = shifted,
                                 .data = lanes,
                                 .op0 = AluOp::kRightShift,
                                 .constant0 = static_cast<double>(bit),
                                 .op1 = AluOp::kBitwiseAnd,
                                 .constant1 = 1});
      builder_.emit(TensorCopy{.dst = lane_bits_.slice(1, bit, 1), .src = shifted});
    }
  }

  void sort() {
    for (int64_t size = 2; size <= padded_; size *= 2) {
      int64_t distance = size / 2;
      if (distance >= width_) {
        transpose(true);
        for (; distance >= width_; distance /= 2) {
          exchange(merged(turned_), size / width_, distance / width_, size < padded_, false);
        }
        transpose(false);
      }
      for (; distance > 0; distance /= 2) {
        exchange(straight_, size, distance, size < padded_, size >= width_);
      }
    }
  }
  static Pair merged(const Pair& pair) { return {pair[0].flatten(), pair[1].flatten()}; }

  void transpose(bool forth) {
    for (size_t i = 0; i < straight_.size(); ++i) {
      const View blocks = straight_[i].split(1, width_ / block_, block_);
      const View &source = forth ? blocks : turned_[i], &target = forth ? turned_[i] : blocks;
      for (int64_t start = 0; start < target.size(1); start += transposer_.group()) {
        const int64_t count = std::min(transposer_.group(), target.size(1) - start);
        transposer_.transpose(
            target.slice(1, start, count),
            [&](int64_t block) { return source.select(1, start + block); }, turn_++);
      }
    }
  }

  /// Compares elements `distance` apart in blocks of `size`, every other of which is sorted
  /// downwards if `alternates`; `by_lane`: which ones depends on the partition.
  void exchange(const Pair& pair, int64_t size, int64_t distance, bool alternates, bool by_lane) {
    const int64_t columns = pair[0].free_elements(), partitions = pair[0].partitions();
    const auto half = [&](size_t i, int64_t which) {
      return pair[i]
          .split(1, columns / (2 * distance), 2 * distance)
          .split(2, 2, distance)
          .select(2, which);
    };
    const View low = half(0, 0), high = half(0, 1), low_place = half(1, 0), high_place = half(1, 1);
    const View after = mask(0, low), equal = mask(1, low), later = mask(2, low);
    compare(after, low, high, AluOp::kGreater);
    compare(equal, low, high, AluOp::kEqual);
    compare(later, low_place, high_place, AluOp::kGreater);
    compare(equal, equal, later, AluOp::kMultiply);
    compare(after, after, equal, AluOp::kMaximum);
    if (alternates) {
      const View downwards =
          by_lane ? lane_bits_.slice(1, std::countr_zero(static_cast<uint64_t>(size / width_)), 1)
                        .broadcast(1, columns / 2)
                  : alternating_.pattern(
                        {{partitions, 1}, {columns / (2 * size), 0}, {2, 1}, {size / 2, 0}}, 0);
      compare(after, after, downwards, AluOp::kNotEqual);
    }
    for (size_t i = 0; i < pair.size(); ++i) {
      const View first = half(i, 0), second = half(i, 1);
      const View kept = kept_[i].slice(0, 0, partitions).slice(1, 0, columns / 2);
      builder_.emit(TensorCopy{.dst = kept, .src = first, .engine = EngineKind::kScalar});
      builder_.emit(TensorCopyPredicated{.dst = first, .src = second, .predicate = bits(after)});
      builder_.emit(TensorCopyPredicated{.dst = second, .src = kept, .predicate = bits(after)});
    }
  }

  void write_results(HbmTensors results) {
    const auto& [keys, places] = straight_;
    compare(elements_, keys, descending_ ? -1 : 1, AluOp::kMultiply);
    if (floating_) {
      const View nan = mask(0, keys);
      descending_ ? compare(nan, places, 0, AluOp::kLess)
                  : compare(nan, places, nan_offset(), AluOp::kGreaterEqual);
      builder_.emit(TensorCopyPredicated{.dst = elements_,
                                         .predicate = bits(nan),
                                         .constant = std::numeric_limits<double>::quiet_NaN()});
      move_places(nan, -nan_offset());
    }
    builder_.emit(Memset{.dst = places_, .value = 0});
    builder_.emit(
        TensorCopy{.dst = places_.split(1, rows_.columns(), 2).select(2, 0), .src = places});
    const auto write = [&](const View& hbm, const View& tile) { store(builder_, hbm, tile); };
    rows_.for_transfers(results[0], elements_, write);
    SpreadRows words = rows_;
    words.spread.width *= 2;
    words.for_transfers(results[1], places_, write);
  }

  Builder& builder_;
  const SpreadRows& rows_;
  const int64_t width_, padded_;
  const bool descending_, floating_;
  Transposer transposer_;
  int64_t block_ = 0, turn_ = 0;
  View elements_, places_, lane_bits_, alternating_;
  Pair straight_, turned_, kept_;
  std::array<View, 3> masks_;
};

}  // namespace

void emit_sorted_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                      const SortOptions& options) {
  const HbmTensor& operand = operands[0];
  const int64_t rows = operand.shape[0], length = operand.shape[1];
  for_spread_rows(builder, rows, spread_of(rows, length, builder.limits().partitions),
                  [&](const SpreadRows& spread) {
                    RowSorter(builder, spread, operand, options.descending).emit(operand, results);
                  });
}

}  // namespace neuron_sim
