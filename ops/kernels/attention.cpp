#include "ops/kernels/attention.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/activation.h"
#include "device/isa/activation_reduce.h"
#include "device/isa/affine_select.h"
#include "device/isa/memset.h"
#include "device/isa/reciprocal.h"
#include "device/isa/scalar_tensor_tensor.h"
#include "device/isa/tensor_copy.h"
#include "device/isa/tensor_reduce.h"
#include "device/isa/tensor_scalar.h"
#include "device/isa/tensor_tensor.h"
#include "ops/contraction.h"
#include "ops/tiles.h"

namespace neuron_sim {
namespace {

constexpr int kRing = 2;
// Stands for the largest score of no key: finite, so that differences are. A mask of this value
// (torch.finfo.min) on all keys of a row leaves them equal, as in torch.
constexpr double kLowest = -3.4028234663852886e38;
// Of exponentials; below what any key gives, and in the range of the logarithm.
constexpr double kSmallestSum = 1e-6;

/// Where one query head and its key head begin, in elements of each tensor.
struct Head {
  Affine q, k, v, bias, out, log_sums;
};

class Attention {
 public:
  Attention(Builder& builder, const HbmTensor& q, const HbmTensor& k, const HbmTensor& v,
            const std::optional<HbmTensor>& bias, const HbmTensor& out, const HbmTensor& log_sums,
            const AttentionOptions& options)
      : builder_(builder),
        q_(q),
        k_(k),
        v_(v),
        bias_(bias),
        out_(out),
        log_sums_(log_sums),
        options_(options),
        transposer_(builder, q.dtype()),
        row_tile_(builder.limits().partitions),
        key_tile_(std::min(product_columns(builder.limits()), k.shape[2])),
        load_q_(builder, queries({}), q.shape[3], &transposer_, EngineKind::kScalar),
        load_k_(builder, keys({}), q.shape[3], &transposer_, kLoadQueue),
        load_v_(builder, values({}), key_tile_, &transposer_, kLoadQueue) {
    const int64_t depth = q.shape[3], width = v.shape[3];
    const Dtype dtype = q.dtype();
    q_tile_ = blocked_tile(builder, "q", depth, row_tile_, dtype, kRing);
    k_tile_ = blocked_tile(builder, "k", depth, key_tile_, dtype, kRing);
    v_tile_ = blocked_tile(builder, "v", key_tile_, width, dtype, kRing);
    turned_ = blocked_tile(builder, "exponentials_turned", key_tile_, row_tile_, dtype, kRing);
    exponentials_ = tile("exponentials", key_tile_, dtype);
    scores_ = tile("scores", key_tile_, Dtype::kFloat32);
    if (bias) bias_tile_ = tile("bias", key_tile_, bias->dtype());
    sums_ = tile("weighted_sums", width, Dtype::kFloat32);
    result_ = tile("result", width, dtype);
    largest_ = tile("largest", 1, Dtype::kFloat32);
    negated_ = tile("largest_negated", 1, Dtype::kFloat32);
    decay_ = tile("decay", 1, Dtype::kFloat32);
    total_ = tile("total", 1, Dtype::kFloat32);
    part_ = tile("part", 1, Dtype::kFloat32);
    products_ = builder.psum("products", {row_tile_, key_tile_}, Dtype::kFloat32, 2);
    weighted_ = builder.psum("weighted", {row_tile_, width}, Dtype::kFloat32, 2);
  }

  void emit() {
    const int64_t key_heads = k_.shape[1], group = q_.shape[1] / key_heads;
    builder_.loop(q_.shape[0], [&](const Affine& image) {
      builder_.loop(key_heads, [&](const Affine& key_head) {
        builder_.loop(group, [&](const Affine& member) {
          const Affine head = key_head * group + member;
          const auto start = [&](const HbmTensor& tensor, const Affine& index) {
            return image * tensor.strides[0] + index * tensor.strides[1];
          };
          emit_head({start(q_, head), start(k_, key_head), start(v_, key_head),
                     bias_ ? start(*bias_, head) : Affine(0), start(out_, head),
                     start(log_sums_, head)});
        });
      });
    });
  }

 private:
  View tile(const char* label, int64_t columns, Dtype dtype) {
    return builder_.sbuf(label, {row_tile_, columns}, dtype, kRing);
  }
  /// Contracted dimension first.
  View queries(const Head& head) const {
    return q_.view({q_.shape[3], q_.shape[2]}, {q_.strides[3], q_.strides[2]}, head.q);
  }
  View keys(const Head& head) const {
    return k_.view({k_.shape[3], k_.shape[2]}, {k_.strides[3], k_.strides[2]}, head.k);
  }
  View values(const Head& head) const {
    return v_.view({v_.shape[2], v_.shape[3]}, {v_.strides[2], v_.strides[3]}, head.v);
  }

  void emit_head(const Head& head) {
    const int64_t rows = q_.shape[2];
    int64_t number = 0;
    for (int64_t row = 0; row < rows; row += row_tile_, ++number) {
      emit_rows(head, row, std::min(row_tile_, rows - row), number);
    }
  }

  /// Rows of q of one head, all keys.
  void emit_rows(const Head& head, int64_t row, int64_t rows, int64_t number) {
    rows_ = {row, rows, number};
    const BlockedMatrix q = q_matrix();
    load_q_.load(queries(head).slice(1, row, rows), q, number);
    builder_.emit(Memset{.dst = of_rows(largest_), .value = kLowest});
    builder_.emit(Memset{.dst = of_rows(total_)});
    builder_.emit(Memset{.dst = of_rows(sums_), .engine = EngineKind::kGpSimd});
    const int64_t keys = k_.shape[2];
    const int64_t last = options_.causal ? std::min(keys, row + rows) : keys;
    // Keys that count for all of the rows need no mask.
    const int64_t whole = (options_.causal ? std::min(keys, row + 1) : keys) / key_tile_;
    builder_.loop(whole, [&](const Affine& i) { emit_keys(head, i * key_tile_, key_tile_, i); });
    for (int64_t key = whole * key_tile_; key < last; key += key_tile_) {
      const int64_t count = std::min(key_tile_, last - key);
      emit_keys(head, key, count, key / key_tile_);
    }
    finish(head);
  }

  View of_rows(const View& ring) const { return ring.turn(rows_.number).slice(0, 0, rows_.count); }
  View of_keys(const View& ring, const Affine& turn, int64_t count) const {
    return ring.turn(turn).slice(0, 0, rows_.count).slice(1, 0, count);
  }
  BlockedMatrix q_matrix() const { return {q_tile_.turn(rows_.number), q_.shape[3], rows_.count}; }

  /// One tile of keys; one that reaches beyond the diagonal is masked.
  void emit_keys(const Head& head, const Affine& key, int64_t count, const Affine& turn) {
    const int64_t depth = q_.shape[3], width = v_.shape[3];
    const BlockedMatrix k{k_tile_.turn(turn), depth, count};
    const BlockedMatrix v{v_tile_.turn(turn), count, width};
    load_k_.load(keys(head).slice(1, key, count), k, turn);
    load_v_.load(values(head).slice(0, key, count), v, turn);
    const View product = of_keys(products_, turn, count);
    multiply(builder_, product, {q_matrix(), 0, rows_.count}, {k, 0, count});
    const View scores = of_keys(scores_, turn, count);
    scale_scores(head, key, count, turn, product, scores);
    const bool masked =
        options_.causal && key.is_constant() && key.constant() + count - 1 > rows_.first;
    if (masked) {
      builder_.emit(AffineSelect{.dst = scores,
                                 .pattern = {{-1, count}},
                                 .channel_multiplier = 1,
                                 .on_true_tile = scores,
                                 .on_false_value = kLowest,
                                 .cmp_op = AluOp::kGreaterEqual,
                                 .offset = rows_.first - key.constant()});
    }
    update_largest(scores);
    const View exponentials = of_keys(exponentials_, turn, count);
    builder_.emit(ActivationReduce{.dst = exponentials,
                                   .data = scores,
                                   .op = Activation::kExp,
                                   .reduce_res = of_rows(part_),
                                   .bias_tile = of_rows(negated_)});
    builder_.emit(ScalarTensorTensor{.dst = of_rows(total_),
                                     .data = of_rows(total_),
                                     .operand0 = of_rows(decay_),
                                     .operand1 = of_rows(part_),
                                     .op0 = AluOp::kMultiply});
    add_values(exponentials, v, turn);
  }

  void scale_scores(const Head& head, const Affine& key, int64_t count, const Affine& turn,
                    const View& product, const View& scores) {
    if (!bias_) {
      builder_.emit(Activate{.dst = scores, .data = product, .scale = options_.scale});
      return;
    }
    const View bias = of_keys(bias_tile_, turn, count);
    load(builder_, bias,
         bias_->view({rows_.count, count}, {bias_->strides[2], bias_->strides[3]},
                     head.bias + rows_.first * bias_->strides[2] + key * bias_->strides[3]),
         EngineKind::kScalar);
    builder_.emit(ScalarTensorTensor{.dst = scores,
                                     .data = product,
                                     .operand1 = bias,
                                     .op0 = AluOp::kMultiply,
                                     .constant0 = options_.scale});
  }

  /// The largest score so far, and exp(before - now) for what was added up with the one before.
  void update_largest(const View& scores) {
    const View largest = of_rows(largest_), part = of_rows(part_), decay = of_rows(decay_);
    builder_.emit(TensorReduce{.dst = part, .data = scores, .op = AluOp::kMaximum});
    builder_.emit(TensorTensor{.dst = part,
                               .data1 = part,
                               .data2 = largest,
                               .op = AluOp::kMaximum,
                               .engine = EngineKind::kVector});
    builder_.emit(TensorScalar{.dst = of_rows(negated_),
                               .data = part,
                               .op0 = AluOp::kMultiply,
                               .constant0 = -1,
                               .engine = EngineKind::kVector});
    builder_.emit(Activate{
        .dst = decay, .data = largest, .op = Activation::kExp, .bias_tile = of_rows(negated_)});
    builder_.emit(TensorCopy{.dst = largest, .src = part});
  }

  /// sums = sums * decay + exponentials @ v.
  void add_values(const View& exponentials, const BlockedMatrix& v, const Affine& turn) {
    const int64_t full = v.full_blocks(), rest = v.rest(), rows = rows_.count;
    const BlockedMatrix turned{turned_.turn(turn), v.rows, rows};
    const View place = turned.tile.slice(2, 0, rows);
    for (int64_t block = 0; block < full; block += transposer_.group()) {
      const int64_t blocks = std::min(transposer_.group(), full - block);
      transposer_.transpose(
          place.slice(1, block, blocks),
          [&](int64_t j) { return exponentials.slice(1, (block + j) * row_tile_, row_tile_); },
          block / transposer_.group(), EngineKind::kVector);
    }
    if (rest > 0) {
      transposer_.transpose(
          place.slice(0, 0, rest).slice(1, full, 1),
          [&](int64_t) { return exponentials.slice(1, full * row_tile_, rest); }, full);
    }
    const View product = of_keys(weighted_, turn, v.columns);
    multiply(builder_, product, {turned, 0, rows}, {v, 0, v.columns});
    builder_.emit(ScalarTensorTensor{.dst = of_rows(sums_),
                                     .data = of_rows(sums_),
                                     .operand0 = of_rows(decay_),
                                     .operand1 = product,
                                     .op0 = AluOp::kMultiply});
  }

  void finish(const Head& head) {
    const View total = of_rows(total_), part = of_rows(part_), result = of_rows(result_);
    builder_.emit(TensorScalar{.dst = part,
                               .data = total,
                               .op0 = AluOp::kMaximum,
                               .constant0 = kSmallestSum,
                               .engine = EngineKind::kVector});
    builder_.emit(Activate{.dst = of_rows(decay_), .data = part, .op = Activation::kLog});
    builder_.emit(Reciprocal{.dst = part, .data = part});
    builder_.emit(TensorScalar{.dst = result,
                               .data = of_rows(sums_),
                               .operand0 = part,
                               .op0 = AluOp::kMultiply,
                               .engine = EngineKind::kVector});
    builder_.emit(TensorTensor{.dst = of_rows(negated_),
                               .data1 = of_rows(largest_),
                               .data2 = of_rows(decay_),
                               .engine = EngineKind::kVector});
    store(builder_,
          out_.view({rows_.count, out_.shape[3]}, {out_.strides[2], out_.strides[3]},
                    head.out + rows_.first * out_.strides[2]),
          result);
    store(builder_,
          log_sums_.view({rows_.count, 1}, {log_sums_.strides[2], 1},
                         head.log_sums + rows_.first * log_sums_.strides[2]),
          of_rows(negated_));
  }

  struct Rows {
    int64_t first = 0, count = 0, number = 0;
  };

  Builder& builder_;
  const HbmTensor &q_, &k_, &v_;
  const std::optional<HbmTensor>& bias_;
  const HbmTensor &out_, &log_sums_;
  const AttentionOptions& options_;
  Transposer transposer_;
  const int64_t row_tile_, key_tile_;
  ContractionLoader load_q_, load_k_, load_v_;
  View q_tile_, k_tile_, v_tile_, turned_, exponentials_, scores_, bias_tile_;
  View sums_, result_, largest_, negated_, decay_, total_, part_, products_, weighted_;
  Rows rows_;
};

}  // namespace

void emit_attention(Builder& builder, const HbmTensor& q, const HbmTensor& k, const HbmTensor& v,
                    const std::optional<HbmTensor>& bias, const HbmTensor& out,
                    const HbmTensor& log_sums, const AttentionOptions& options) {
  const int64_t widest = product_columns(builder.limits());
  if (v.shape[3] > widest) {
    fail(text("attention: values of ", v.shape[3], " elements exceed the ", widest,
              " of a PSUM bank on ", builder.architecture().name, "."));
  }
  builder.scope([&] { Attention(builder, q, k, v, bias, out, log_sums, options).emit(); });
}

}  // namespace neuron_sim
