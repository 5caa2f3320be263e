#include "ops/attention/few_rows.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "ops/attention/section.h"
#include "ops/attention/units.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kMostRows = 8;       // of q per key head
constexpr int64_t kMostHeads = 1024;   // each is emitted by itself
constexpr int64_t kMostScores = 4096;  // per partition, of the heads that share row operations

/// Rows of q that share a key head.
int64_t rows_of(const HbmTensor& q) { return q.shape[2] * q.shape[3]; }

/// Tiles of keys that are in SBUF together, two of each kind in a ring; 0: not one fits.
int64_t tiles_at_once(const Limits& limits, const HbmTensor& q, const HbmTensor& v, int64_t tiles) {
  const int64_t tile = kDoubleBuffer * (2 * q.shape[4] + v.shape[4]) * itemsize(q.dtype());
  const int64_t fitting = limits.sbuf_usable.count * 5 / 8 / tile;
  return fitting == 0 ? 0 : balanced(tiles, fitting);
}

class FewRows {
 public:
  FewRows(Builder& builder, HbmTensors operands, HbmTensors results,
          const AttentionOptions& options);
  /// Key heads first .. first + count - 1, over all images.
  void emit(int64_t first, int64_t count);
  /// Key heads that emit() takes at most.
  int64_t group() const { return group_; }

 private:
  View tile(const char* label, const std::vector<int64_t>& sizes, Dtype dtype, int ring = 1) {
    return builder_.sbuf(label, sizes, dtype, ring);
  }
  /// Elements of a tensor before those of a key head.
  int64_t start(const HbmTensor& tensor, int64_t head) const {
    return head / heads_ * tensor.strides[0] + head % heads_ * tensor.strides[1];
  }
  int64_t row_step(const HbmTensor& tensor) const {
    return tensor.strides[q_.shape[2] > 1 ? 2 : 3];
  }
  /// [128, tiles, width] of the rows of a head.
  View by_partitions(const HbmTensor& tensor, int64_t head) const;
  void load_queries(int64_t first, int64_t count);
  /// body(first tile, tiles, turn) for what is loaded of a head at a time.
  void for_pieces(int64_t place, const std::function<void(int64_t, int64_t, int64_t)>& body) const;
  void score(int64_t first, int64_t place);
  void scale(const View& target, const View& product, int64_t head);
  void exponentiate(int64_t count);
  void sum(int64_t count);
  void weigh(int64_t first, int64_t place);
  void finish(int64_t first, int64_t count);
  void store_sums(int64_t first, int64_t columns);

  Builder& builder_;
  const HbmTensor &q_, &k_, &v_;
  const std::optional<HbmTensor> bias_;
  const HbmTensor& out_;
  const std::optional<HbmTensor> log_sums_;
  const AttentionOptions& options_;
  const int64_t partitions_, heads_, rows_, tiles_, depth_, width_, group_;
  const int64_t piece_;  ///< tiles that are loaded together
  AttentionTransposer transposer_, exact_;
  AttentionTransposer of_results_;
  View queries_, queries_turned_, keys_, keys_turned_, values_, bias_tile_;
  View scores_, exponentials_, largest_, largest_turned_, negated_, spread_, negated_everywhere_;
  View parts_, ones_, inverse_, weighted_, out_rows_;
  View product_, totals_, sums_;  // in PSUM
};

FewRows::FewRows(Builder& builder, HbmTensors operands, HbmTensors results,
                 const AttentionOptions& options)
    : builder_(builder),
      q_(operands[0]),
      k_(operands[1]),
      v_(operands[2]),
      bias_(optional_tensor(operands, 3)),
      out_(results[0]),
      log_sums_(optional_tensor(results, 1)),
      options_(options),
      partitions_(builder.limits().partitions),
      heads_(k_.shape[1]),
      rows_(rows_of(q_)),
      tiles_(k_.shape[3] / partitions_),
      depth_(q_.shape[4]),
      width_(v_.shape[4]),
      group_(std::min({k_.shape[0] * heads_, partitions_ / rows_,
                       std::max<int64_t>(1, kMostScores / (tiles_ * rows_))})),
      piece_(tiles_at_once(builder.limits(), q_, v_, tiles_)),
      transposer_(builder, q_.dtype(), kDoubleBuffer,
                  options.exact_transposes ? EngineKind::kAuto : EngineKind::kTensor),
      exact_(builder, Dtype::kFloat32, 1),
      of_results_(builder, out_.dtype(), 1,
                  options.exact_transposes ? EngineKind::kAuto : EngineKind::kTensor) {
  const int64_t columns = group_ * rows_;
  const Dtype dtype = q_.dtype();
  queries_ = tile("q_rows", {partitions_, depth_}, dtype);
  queries_turned_ = tile("q_turned", {depth_, 1, partitions_}, dtype);
  keys_ = tile("k_rows", {partitions_, piece_, depth_}, dtype, kDoubleBuffer);
  keys_turned_ = tile("k_turned", {depth_, piece_, partitions_}, dtype, kDoubleBuffer);
  values_ = tile("v_rows", {partitions_, piece_, width_}, dtype, kDoubleBuffer);
  if (bias_) bias_tile_ = tile("bias", {partitions_, rows_, tiles_}, bias_->dtype(), kDoubleBuffer);
  const std::vector<int64_t> all{partitions_, group_, tiles_, rows_};
  scores_ = tile("scores", all, Dtype::kFloat32);
  exponentials_ = tile("exponentials", all, dtype);
  largest_ = tile("largest", {partitions_, columns}, Dtype::kFloat32);
  largest_turned_ = tile("largest_turned", {columns, 1, partitions_}, Dtype::kFloat32);
  negated_ = tile("largest_negated", {columns, 1}, Dtype::kFloat32);
  spread_ = tile("largest_spread", {columns, partitions_}, Dtype::kFloat32);
  negated_everywhere_ = tile("largest_everywhere", {partitions_, 1, columns}, Dtype::kFloat32);
  parts_ = tile("sums_of_partitions", {partitions_, columns}, Dtype::kFloat32);
  inverse_ = tile("inverse", {partitions_, columns}, Dtype::kFloat32);
  weighted_ = tile("weighted_sums", {width_, columns}, out_.dtype());
  out_rows_ = tile("out_rows", {columns, 1, width_}, out_.dtype());
  ones_ = tile("ones", {partitions_, partitions_}, Dtype::kFloat32);
  builder.emit(Memset{.dst = ones_, .value = 1, .engine = EngineKind::kGpSimd});
  product_ =
      builder.psum("scores_of_head", {partitions_, tiles_ * rows_}, Dtype::kFloat32, kDoubleBuffer);
  totals_ = builder.psum("totals", {partitions_, columns}, Dtype::kFloat32);
  sums_ = builder.psum("weighted", {width_, columns}, Dtype::kFloat32);
}

View FewRows::by_partitions(const HbmTensor& tensor, int64_t head) const {
  const int64_t step = tensor.strides[3];
  return tensor.view({partitions_, tiles_, tensor.shape[4]},
                     {tiles_ * step, step, tensor.strides[4]}, start(tensor, head));
}

void FewRows::emit(int64_t first, int64_t count) {
  load_queries(first, count);
  for (int64_t place = 0; place < count; ++place) score(first, place);
  exponentiate(count);
  sum(count);
  for (int64_t place = 0; place < count; ++place) weigh(first, place);
  finish(first, count);
}

void FewRows::load_queries(int64_t first, int64_t count) {
  for (int64_t place = 0; place < count; ++place) {
    load(builder_, queries_.slice(0, place * rows_, rows_),
         q_.view({rows_, depth_}, {row_step(q_), q_.strides[4]}, start(q_, first + place)));
  }
  const int64_t columns = count * rows_;
  transposer_.transpose(queries_turned_.slice(2, 0, columns),
                        [&](int64_t) { return queries_.slice(0, 0, columns); });
}

void FewRows::for_pieces(int64_t place,
                         const std::function<void(int64_t, int64_t, int64_t)>& body) const {
  const int64_t pieces = ceiling(tiles_, piece_);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t start = piece * piece_;
    body(start, std::min(piece_, tiles_ - start), place * pieces + piece);
  }
}

void FewRows::score(int64_t first, int64_t place) {
  const View product = product_.turn(place);
  for_pieces(place, [&](int64_t start, int64_t count, int64_t turn) {
    const View keys = keys_.turn(turn).slice(1, 0, count);
    const View turned = keys_turned_.turn(turn).slice(1, 0, count);
    load(builder_, keys, by_partitions(k_, first + place).slice(1, start, count));
    transposer_.transpose(turned, [&](int64_t t) { return keys.select(1, t); });
    builder_.loop(count, [&](const Affine& t) {
      builder_.emit(NcMatmul{product.slice(1, (t + start) * rows_, rows_), turned.select(1, t),
                             queries_turned_.select(1, 0).slice(1, place * rows_, rows_)});
    });
  });
  scale(scores_.select(1, place), product.split(1, tiles_, rows_), first + place);
}

void FewRows::scale(const View& target, const View& product, int64_t head) {
  if (!bias_) {
    builder_.emit(TensorScalar{.dst = target,
                               .data = product,
                               .op0 = AluOp::kMultiply,
                               .constant0 = options_.scale,
                               .engine = EngineKind::kVector});
    return;
  }
  const View loaded = bias_tile_.turn(head);
  const int64_t step = bias_->strides[4];
  load(builder_, loaded,
       bias_->view({partitions_, rows_, tiles_}, {tiles_ * step, row_step(*bias_), step},
                   start(*bias_, head)));
  builder_.emit(ScalarTensorTensor{.dst = target,
                                   .data = product,
                                   .operand1 = loaded.permute({0, 2, 1}),
                                   .op0 = AluOp::kMultiply,
                                   .constant0 = options_.scale});
}

/// Exponentials relative to the largest score of each row, which becomes a row of its own (its
/// scores are spread over the partitions), negated, and then is brought back to all partitions.
void FewRows::exponentiate(int64_t count) {
  const int64_t columns = count * rows_;
  const View scores = scores_.slice(1, 0, count);
  View largest = largest_.slice(1, 0, columns);
  builder_.emit(TensorReduce{.dst = largest.split(1, count, rows_),
                             .data = scores.permute({0, 1, 3, 2}),
                             .op = AluOp::kMaximum});
  const View turned = largest_turned_.slice(0, 0, columns);
  exact_.transpose(turned, [&](int64_t) { return largest; });
  const View negated = negated_.slice(0, 0, columns);
  builder_.emit(TensorReduce{
      .dst = negated, .data = turned.select(1, 0), .op = AluOp::kMaximum, .negate = true});
  // Finite, so that differences are finite too, even in a row without any key.
  View spread = spread_.slice(0, 0, columns);
  builder_.emit(TensorScalar{.dst = spread,
                             .data = negated.broadcast(1, partitions_),
                             .op0 = AluOp::kMinimum,
                             .constant0 = std::numeric_limits<float>::max(),
                             .engine = EngineKind::kVector});
  const View everywhere = negated_everywhere_.slice(2, 0, columns);
  exact_.transpose(everywhere, [&](int64_t) { return spread; });
  builder_.emit(TensorTensor{
      .dst = scores,
      .data1 = scores,
      .data2 = everywhere.select(1, 0).split(1, count, rows_).expand(2).broadcast(2, tiles_),
      .op = AluOp::kAdd,
      .engine = EngineKind::kVector});
  builder_.emit(Activate{.dst = scores, .data = scores, .op = Activation::kExp});
  builder_.emit(TensorCopy{
      .dst = exponentials_.slice(1, 0, count), .src = scores, .engine = EngineKind::kGpSimd});
}

/// Sums of the exponentials of each row, on all partitions.
void FewRows::sum(int64_t count) {
  const int64_t columns = count * rows_;
  const View parts = parts_.slice(1, 0, columns);
  builder_.emit(TensorReduce{.dst = parts.split(1, count, rows_),
                             .data = scores_.slice(1, 0, count).permute({0, 1, 3, 2}),
                             .op = AluOp::kAdd});
  const View totals = totals_.slice(1, 0, columns);
  builder_.emit(NcMatmul{totals, ones_, parts});
  const View inverse = inverse_.slice(1, 0, columns);
  builder_.emit(TensorScalar{.dst = inverse,
                             .data = totals,
                             .op0 = AluOp::kMaximum,
                             .constant0 = kAttentionSmallestSum,
                             .engine = EngineKind::kVector});
}

void FewRows::weigh(int64_t first, int64_t place) {
  const View target = sums_.slice(1, place * rows_, rows_);
  const View weights = exponentials_.select(1, place);
  for_pieces(place, [&](int64_t start, int64_t count, int64_t turn) {
    const View values = values_.turn(turn).slice(1, 0, count);
    load(builder_, values, by_partitions(v_, first + place).slice(1, start, count));
    const auto step = [&](const Affine& t, bool adds) {
      builder_.emit(NcMatmul{target, values.select(1, t), weights.select(1, t + start), adds});
    };
    step(0, start > 0);
    builder_.loop(count - 1, [&](const Affine& t) { step(t + 1, true); });
  });
}

void FewRows::finish(int64_t first, int64_t count) {
  const int64_t columns = count * rows_;
  if (log_sums_) store_sums(first, columns);
  const View inverse = inverse_.slice(1, 0, columns);
  View weighted = weighted_.slice(1, 0, columns);
  builder_.emit(Reciprocal{.dst = inverse, .data = inverse});
  builder_.emit(TensorTensor{.dst = weighted,
                             .data1 = sums_.slice(1, 0, columns),
                             .data2 = inverse.slice(0, 0, width_),
                             .op = AluOp::kMultiply,
                             .engine = EngineKind::kVector});
  const View rows = out_rows_.slice(0, 0, columns);
  of_results_.transpose(rows, [&](int64_t) { return weighted; });
  for (int64_t place = 0; place < count; ++place) {
    store(builder_,
          out_.view({rows_, width_}, {row_step(out_), out_.strides[4]}, start(out_, first + place)),
          rows.select(1, 0).slice(0, place * rows_, rows_));
  }
}

/// log(total) - negated, from one of the partitions that all have them.
void FewRows::store_sums(int64_t first, int64_t columns) {
  const View sums = parts_.slice(0, 0, 1).slice(1, 0, columns);
  builder_.emit(Activate{
      .dst = sums, .data = inverse_.slice(0, 0, 1).slice(1, 0, columns), .op = Activation::kLog});
  builder_.emit(
      TensorTensor{.dst = sums,
                   .data1 = sums,
                   .data2 = negated_everywhere_.slice(0, 0, 1).slice(2, 0, columns).select(1, 0),
                   .op = AluOp::kSubtract,
                   .engine = EngineKind::kVector});
  store(builder_, log_sums_->view({1, columns}, {columns, 1}, first * rows_), sums);
}

}  // namespace

bool has_few_rows(const Limits& limits, HbmTensors operands, const AttentionOptions& options) {
  const HbmTensor &q = operands[0], &k = operands[1], &v = operands[2];
  const int64_t rows = rows_of(q), keys = k.shape[3], tiles = keys / limits.partitions;
  return !options.causal && rows <= kMostRows && (q.shape[2] == 1 || q.shape[3] == 1) &&
         tiles > 1 && keys % limits.partitions == 0 && tiles * rows <= product_columns(limits) &&
         std::max(q.shape[4], v.shape[4]) <= limits.partitions && k.strides[4] == 1 &&
         v.strides[4] == 1 && k.shape[0] * k.shape[1] <= kMostHeads &&
         tiles_at_once(limits, q, v, tiles) > 0;
}

void emit_attention_of_few_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                                const AttentionOptions& options) {
  builder.scope([&] {
    FewRows heads(builder, operands, results, options);
    const int64_t count = operands[1].shape[0] * operands[1].shape[1];
    for (int64_t first = 0; first < count; first += heads.group()) {
      heads.emit(first, std::min(heads.group(), count - first));
    }
  });
}

}  // namespace neuron_sim
