#include "ops/rows/largest_of_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/iota.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/nc_n_gather.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/movement/tensor_copy_predicated.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/search/max8.h"
#include "device/isa/search/nc_match_replace8.h"
#include "ops/blocks/tiles.h"
#include "ops/blocks/transposer.h"
#include "ops/rows/spread_rows.h"

namespace neuron_sim {
namespace {

constexpr int64_t kEight = 8;
constexpr int64_t kColumns = 4096;  // of a partition: 18 bytes of SBUF for each
constexpr int64_t kMerged = 16;     // partitions whose candidates move to one
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kNanPlaces = 2.0 * kLongestSorted, kAbsentPlace = 4.0 * kLongestSorted;

/// Values in descending order of keys, NaN where there are fewer, and their places in their rows.
struct Candidates {
  HbmTensor keys, places;  ///< fp32 [classes * rows, elements]
};

class LargestOfRows {
 public:
  LargestOfRows(Builder& builder, const HbmTensor& operand, HbmTensors results, bool descending)
      : builder_(builder),
        operand_(operand),
        results_(results),
        rows_(operand.shape[0]),
        length_(operand.shape[1]),
        count_(ceiling(results[0].shape[1], kEight) * kEight),
        classes_(is_float(operand.dtype()) ? 2 : 1),
        sign_(descending ? 1 : -1) {}

  void emit() {
    const int64_t partitions = builder_.limits().partitions;
    const auto power = [](int64_t least) {
      return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least)));
    };
    int64_t lanes = std::max(power(ceiling(length_, kColumns)),
                             partitions / power(std::min(rows_, partitions)));
    while (lanes > 1 && ceiling(length_, lanes) < 2 * count_) lanes /= 2;
    Candidates candidates = room(lanes * count_);
    for_spread_rows(builder_, rows_, {length_, lanes, ceiling(length_, lanes)},
                    [&](const SpreadRows& rows) { select_elements(rows, candidates); });
    while (lanes > 1) {
      const int64_t before = lanes * count_;
      lanes = std::max<int64_t>(1, lanes / kMerged);
      const Candidates fewer = room(lanes * count_);
      for_spread_rows(builder_, classes_ * rows_, {before, lanes, before / lanes},
                      [&](const SpreadRows& rows) { select_again(rows, candidates, fewer); });
      candidates = fewer;
    }
    order(candidates);
  }

 private:
  Candidates room(int64_t elements) {
    const std::vector<int64_t> shape{classes_ * rows_, elements};
    return {scratch_tensor(builder_, "candidates", shape, Dtype::kFloat32),
            scratch_tensor(builder_, "candidate_places", shape, Dtype::kFloat32)};
  }
  View tile(const char* label, int64_t partitions, int64_t columns,
            Dtype dtype = Dtype::kFloat32) const {
    return builder_.sbuf(label, {partitions, columns}, dtype);
  }
  void scalar(const View& dst, const View& data, AluOp op, double constant) {
    builder_.emit(TensorScalar{.dst = dst, .data = data, .op0 = op, .constant0 = constant});
  }
  void compare(const View& dst, const View& a, const View& b, AluOp op) {
    builder_.emit(TensorTensor{.dst = dst, .data1 = a, .data2 = b, .op = op});
  }
  void assign(const View& dst, double constant, const View& predicate) {
    builder_.emit(TensorCopyPredicated{.dst = dst, .predicate = predicate, .constant = constant});
  }

  /// top = the largest elements of each partition of `keys`, which become NaN; found = where.
  void take(const View& keys, const View& top, const View& found) {
    for (int64_t start = 0; start < count_; start += kEight) {
      const View eight = top.slice(1, start, kEight);
      builder_.emit(Max8{.dst = eight, .src = keys});
      builder_.emit(
          NcMatchReplace8{.dst = keys,
                          .data = keys,
                          .vals = eight,
                          .imm = kNan,
                          .dst_idx = found.present() ? found.slice(1, start, kEight) : View()});
    }
  }
  /// `places` with those of equal values in ascending order: nc_match_replace8 gives them
  /// backwards, and of equal candidates the first ones are taken again.
  View in_order(const SpreadRows& rows, const View& top, const View& places) {
    if (rows.spread.lanes == 1) return places;  // they are not selected from again
    const int64_t partitions = top.size(0), groups = count_ / kEight;
    const auto spread = [&](int64_t value, int64_t other) {
      return top.pattern({{partitions, 1}, {groups, kEight}, {kEight, value}, {kEight, other}}, 0);
    };
    const View larger = tile("larger", partitions, count_ * kEight);
    const View no_less = tile("no_less", partitions, count_ * kEight);
    compare(larger, spread(0, 1), spread(1, 0), AluOp::kGreater);
    compare(no_less, spread(0, 1), spread(1, 0), AluOp::kGreaterEqual);
    compare(larger, larger, no_less, AluOp::kAdd);
    // A run from a to b of a group: value s has the place of number a + b - s.
    const View sum = tile("sum", partitions, count_), numbers = tile("numbers", partitions, count_);
    builder_.emit(
        TensorReduce{.dst = sum, .data = larger.split(1, count_, kEight), .op = AluOp::kAdd});
    builder_.emit(Iota{.dst = numbers, .pattern = {{kEight, groups}, {-1, kEight}}, .offset = -1});
    compare(sum, sum, numbers, AluOp::kAdd);
    const View mirrored = tile("mirrored", partitions, count_, Dtype::kUint32);
    scalar(mirrored, sum, AluOp::kMaximum, 0);
    View ordered = tile("in_order", partitions, count_);
    builder_.emit(NcNGather{.dst = ordered, .data = places, .indices = mirrored});
    return ordered;
  }
  void keep(const SpreadRows& rows, const Affine& row, const View& top, const View& places,
            const Candidates& kept) {
    const int64_t lanes = rows.spread.lanes;
    const auto put = [&](const HbmTensor& tensor, const View& tile) {
      store(builder_, tensor.view({tile.size(0), count_}, {count_, 1}, row * (lanes * count_)),
            tile);
    };
    put(kept.keys, top);
    put(kept.places, places);
  }

  void select_elements(const SpreadRows& rows, const Candidates& kept) {
    const int64_t partitions = rows.partitions(), columns = rows.columns();
    const bool as_loaded = operand_.dtype() == Dtype::kFloat32 && sign_ > 0;
    const View elements = tile("elements", partitions, columns, operand_.dtype());
    const View keys = as_loaded ? elements : tile("keys", partitions, columns);
    const View chosen = tile("chosen", partitions, columns).reinterpret(Dtype::kUint32);
    const View first = tile("first", partitions, 1);
    const bool pads = rows.spread.padded() != length_;
    if (pads) builder_.emit(Memset{.dst = elements, .value = 0});
    rows.for_transfers(operand_, elements,
                       [&](const View& hbm, const View& tile) { load(builder_, tile, hbm); });
    rows.first_places(builder_, first);
    if (!as_loaded) scalar(keys, elements, AluOp::kMultiply, sign_);
    if (classes_ > 1) {
      nan_keys_ = tile("nan_keys", partitions, columns);
      builder_.emit(Iota{.dst = nan_keys_, .pattern = {{-1, columns}}});
      scalar(chosen, elements, AluOp::kGreaterEqual, -kInfinity);  // is a number
      assign(nan_keys_, kNan, chosen);
    }
    if (pads) {
      const View places = tile("places", partitions, columns);
      rows.places(builder_, places);
      scalar(chosen, places, AluOp::kGreaterEqual, static_cast<double>(length_));
      assign(keys, kNan, chosen);
    }
    select_numbers(rows, keys, first, kept);
    if (classes_ > 1) select_nan(rows, first, kept);
  }

  void select_numbers(const SpreadRows& rows, const View& keys, const View& first,
                      const Candidates& kept) {
    const int64_t partitions = rows.partitions();
    const View top = tile("top", partitions, count_),
               places = tile("top_places", partitions, count_);
    const View found = tile("found", partitions, count_, Dtype::kUint32);
    take(keys, top, found);
    builder_.emit(TensorScalar{.dst = places,
                               .data = found,
                               .operand1 = first,
                               .op0 = AluOp::kMinimum,
                               .constant0 = static_cast<double>(rows.columns() - 1),
                               .op1 = AluOp::kAdd});
    keep(rows, rows.first, top, in_order(rows, top, places), kept);
  }

  /// The first NaN are the largest of the negated places.
  void select_nan(const SpreadRows& rows, const View& first, const Candidates& kept) {
    const int64_t partitions = rows.partitions();
    const View top = tile("nan", partitions, count_),
               places = tile("nan_places", partitions, count_);
    take(nan_keys_, top, View());
    builder_.emit(TensorScalar{.dst = places,
                               .data = top,
                               .operand1 = first,
                               .op0 = AluOp::kMultiply,
                               .constant0 = -1,
                               .op1 = AluOp::kAdd});
    scalar(top, places, AluOp::kMultiply, -1);
    keep(rows, rows.first + rows_, top, places, kept);
  }

  void select_again(const SpreadRows& rows, const Candidates& given, const Candidates& kept) {
    const int64_t partitions = rows.partitions(), columns = rows.columns();
    const View keys = tile("keys", partitions, columns),
               places = tile("places", partitions, columns);
    const View top = tile("top", partitions, count_),
               top_places = tile("top_places", partitions, count_);
    const View found = tile("found", partitions, count_, Dtype::kUint32);
    const auto read = [&](const View& hbm, const View& tile) { load(builder_, tile, hbm); };
    rows.for_transfers(given.keys, keys, read);
    rows.for_transfers(given.places, places, read);
    take(keys, top, found);
    scalar(found, found, AluOp::kMinimum, static_cast<double>(columns - 1));
    builder_.emit(NcNGather{.dst = top_places, .data = places, .indices = found});
    keep(rows, rows.first, top, in_order(rows, top, top_places), kept);
  }

  /// Writes the candidates of each row where their ranks say.
  void order(const Candidates& candidates) {
    const int64_t all = classes_ * count_;
    builder_.scope([&] {
      of_nan_ = tile("of_nan", all, 1, Dtype::kUint8);
      absent_places_ = tile("absent_places", all, 1);
      builder_.emit(Iota{.dst = absent_places_, .pattern = {{1, 1}}, .channel_multiplier = 1});
      scalar(of_nan_, absent_places_, AluOp::kGreaterEqual, static_cast<double>(count_));
      scalar(absent_places_, absent_places_, AluOp::kAdd, kAbsentPlace);
      Transposer transposer(builder_, Dtype::kFloat32);
      builder_.loop(rows_, [&](const Affine& row) { order_row(candidates, row, transposer); });
    });
  }

  void order_row(const Candidates& candidates, const Affine& row, Transposer& transposer) {
    const int64_t all = classes_ * count_;
    const auto column = [&](const char* label, Dtype dtype) {
      return builder_.sbuf(label, {all, 1}, dtype, kDoubleBuffer).turn(row);
    };
    const auto fetch = [&](const View& tile, const HbmTensor& tensor) {
      load(builder_, tile,
           tensor.view({classes_, count_, 1}, {rows_ * count_, 1, 1}, row * count_));
    };
    const View key = column("key", Dtype::kFloat32), place = column("place", Dtype::kFloat32);
    const View value = column("value", operand_.dtype());
    const View value_place =
        builder_.sbuf("value_place", {all, 2}, Dtype::kInt32, kDoubleBuffer).turn(row);
    fetch(key, candidates.keys);
    fetch(place, candidates.places);
    scalar(value, key, AluOp::kMultiply, sign_);
    builder_.emit(Memset{.dst = value_place, .value = 0});
    builder_.emit(TensorCopy{.dst = value_place.slice(1, 0, 1), .src = place});
    const View absent = column("absent", Dtype::kUint8);
    compare(absent, key, key, AluOp::kNotEqual);
    if (classes_ > 1) {
      assign(value, kNan, of_nan_);
      assign(key, sign_ * kInfinity, of_nan_);
      builder_.emit(ScalarTensorTensor{.dst = place,
                                       .data = of_nan_,
                                       .operand1 = place,
                                       .op0 = AluOp::kMultiply,
                                       .constant0 = -sign_ * kNanPlaces});
    }
    assign(key, -kInfinity, absent);
    builder_.emit(TensorCopyPredicated{.dst = place, .src = absent_places_, .predicate = absent});
    const View rank = column("rank", Dtype::kInt32);
    rank_of(key, place, transposer, row, rank);
    write_row(results_[0], row, value, rank);
    write_row(results_[1], row, value_place, rank);
  }

  /// Writes the candidates whose ranks are below K.
  void write_row(const HbmTensor& result, const Affine& row, const View& candidates,
                 const View& rank) {
    const int64_t k = results_[0].shape[1], words = candidates.size(1), step = result.strides[1];
    const View target = result.view({k, words}, {words * step, step}, row * result.strides[0]);
    builder_.emit(DmaCopy{.dst = target.indirect(k, candidates.size(0)),
                          .src = candidates,
                          .index = rank,
                          .oob_skip = true});
  }

  /// rank = how many candidates come before each one: with larger keys, or equal ones and smaller
  /// places.
  void rank_of(const View& key, const View& place, Transposer& transposer, const Affine& row,
               const View& rank) {
    const int64_t all = key.size(0);
    const View keys = tile("all_keys", all, all), places = tile("all_places", all, all);
    const auto spread = [&](const View& target, const View& source, int64_t half) {
      transposer.transpose(
          target.expand(1), [&](int64_t) { return source.broadcast(1, all); }, row * 2 + half);
    };
    spread(keys, key, 0);
    spread(places, place, 1);
    builder_.emit(
        TensorScalar{.dst = places, .data = places, .operand0 = place, .op0 = AluOp::kLess});
    builder_.emit(ScalarTensorTensor{.dst = places,
                                     .data = keys,
                                     .operand0 = key,
                                     .operand1 = places,
                                     .op0 = AluOp::kEqual,
                                     .op1 = AluOp::kMultiply});
    builder_.emit(ScalarTensorTensor{
        .dst = places, .data = keys, .operand0 = key, .operand1 = places, .op0 = AluOp::kGreater});
    builder_.emit(TensorReduce{.dst = rank, .data = places, .op = AluOp::kAdd});
  }

  Builder& builder_;
  const HbmTensor operand_;
  const HbmTensors results_;
  const int64_t rows_, length_, count_, classes_;
  const double sign_;
  View nan_keys_;
  View of_nan_, absent_places_;  ///< of the candidates of a row, on partitions
};

}  // namespace

void emit_largest_of_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                          const SortOptions& options) {
  LargestOfRows(builder, operands[0], results, options.descending).emit();
}

}  // namespace neuron_sim
