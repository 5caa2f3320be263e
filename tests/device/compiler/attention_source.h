#pragma once
// The two attention kernels of the public traces as their author wrote them: loops over query tiles
// and key tiles, tiles allocated where they are used, nothing batched, merged or forwarded.

#include <memory>

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {

/// softmax(q.T k) v.T of [128, sequence] inputs; intermediates are fp32.
class AttentionSource {
 public:
  AttentionSource(const Architecture& architecture, Dtype dtype, int64_t sequence)
      : builder_("attention", architecture), dtype_(dtype), sequence_(sequence) {
    for (View* const input : {&q_, &k_, &v_}) {
      const View argument = builder_.argument("input", {128, sequence}, dtype);
      *input = builder_.sbuf("input", {128, sequence}, dtype);
      builder_.emit(DmaCopy{.dst = *input, .src = argument});
    }
    out_ = builder_.argument("out", {sequence, 128}, dtype);
  }

  /// Everything in one loop over the query tiles, division after the second product.
  std::shared_ptr<const Program> fused() {
    const View transposed = builder_.sbuf("v_t", {128, sequence_ / 128, 128}, kSum);
    transpose(v_, transposed);
    builder_.loop(sequence_ / 128, [&](const Affine& q) {
      const View scores = builder_.sbuf("scores", {128, sequence_}, kSum);
      multiply(q, scores);
      const View exponentials = builder_.sbuf("exponentials", {128, sequence_}, kSum);
      const View factors = softmax(scores, exponentials);
      const View weights = builder_.sbuf("weights", {128, sequence_ / 128, 128}, kSum);
      transpose(exponentials, weights);
      const View sum = attend(weights, transposed);
      const View result = builder_.sbuf("result", {128, 128}, kSum);
      builder_.emit(
          TensorScalar{.dst = result, .data = sum, .operand0 = factors, .op0 = AluOp::kMultiply});
      builder_.emit(DmaCopy{.dst = out_.slice(0, q * 128, 128), .src = result});
    });
    return builder_.finish();
  }

  /// Three phases with the scores, then the weights, in an HBM tensor between them.
  std::shared_ptr<const Program> baseline() {
    const View between = builder_.scratch("scores", {sequence_ / 128, 128, sequence_}, kSum);
    builder_.loop(sequence_ / 128, [&](const Affine& q) {
      const View scores = builder_.sbuf("scores", {128, sequence_}, kSum);
      multiply(q, scores);
      builder_.emit(DmaCopy{.dst = between.select(0, q), .src = scores});
    });
    builder_.loop(sequence_ / 128, [&](const Affine& q) { normalise(between.select(0, q)); });
    const View transposed = builder_.sbuf("v_t", {128, sequence_ / 128, 128}, kSum);
    transpose(v_, transposed);
    builder_.loop(sequence_ / 128, [&](const Affine& q) {
      const View loaded = builder_.sbuf("loaded", {128, sequence_}, kSum);
      builder_.emit(DmaCopy{.dst = loaded, .src = between.select(0, q)});
      const View weights = builder_.sbuf("weights", {128, sequence_ / 128, 128}, kSum);
      transpose(loaded, weights);
      const View sum = attend(weights, transposed);
      const View result = builder_.sbuf("result", {128, 128}, kSum);
      builder_.emit(TensorCopy{result, sum});
      builder_.emit(DmaCopy{.dst = out_.slice(0, q * 128, 128), .src = result});
    });
    return builder_.finish();
  }

 private:
  static constexpr Dtype kSum = Dtype::kFloat32;

  /// Columns of 128 rows become rows of 128 columns, block by block.
  void transpose(const View& source, const View& target) {
    builder_.loop(sequence_ / 128, [&](const Affine& kv) {
      const View turned = builder_.psum("turned", {128, 128}, source.dtype());
      builder_.emit(NcTranspose{.dst = turned, .data = source.slice(1, kv * 128, 128)});
      builder_.emit(TensorCopy{target.select(1, kv), turned});
    });
  }

  void multiply(const Affine& q, const View& scores) {
    builder_.loop(sequence_ / 512, [&](const Affine& kv) {
      const View product = builder_.psum("product", {128, 512}, kSum);
      builder_.emit(NcMatmul{.dst = product,
                             .stationary = q_.slice(1, q * 128, 128),
                             .moving = k_.slice(1, kv * 512, 512)});
      builder_.emit(TensorCopy{scores.slice(1, kv * 512, 512), product});
    });
  }

  /// exp(scores - row maximum); returns the reciprocals of the row sums.
  View softmax(const View& scores, const View& exponentials) {
    const int64_t tiles = sequence_ / 512;
    const View maxima = builder_.sbuf("maxima", {128, tiles}, kSum);
    const View sums = builder_.sbuf("sums", {128, tiles}, kSum);
    const View bias = builder_.sbuf("bias", {128, 1}, kSum);
    const View total = builder_.sbuf("total", {128, 1}, kSum);
    const View factors = builder_.sbuf("factors", {128, 1}, kSum);
    builder_.loop(tiles, [&](const Affine& kv) {
      builder_.emit(TensorReduce{.dst = maxima.slice(1, kv, 1),
                                 .data = scores.slice(1, kv * 512, 512),
                                 .op = AluOp::kMaximum});
    });
    builder_.emit(TensorReduce{.dst = bias, .data = maxima, .op = AluOp::kMaximum, .negate = true});
    builder_.loop(tiles, [&](const Affine& kv) {
      const View part = exponentials.slice(1, kv * 512, 512);
      builder_.emit(Activate{.dst = part,
                             .data = scores.slice(1, kv * 512, 512),
                             .op = Activation::kExp,
                             .bias_tile = bias});
      builder_.emit(TensorReduce{.dst = sums.slice(1, kv, 1), .data = part, .op = AluOp::kAdd});
    });
    builder_.emit(TensorReduce{.dst = total, .data = sums, .op = AluOp::kAdd});
    builder_.emit(Reciprocal{factors, total});
    return factors;
  }

  /// The second phase of the baseline, for one query tile.
  void normalise(const View& rows) {
    const View scores = builder_.sbuf("loaded", {128, sequence_}, kSum);
    builder_.emit(DmaCopy{.dst = scores, .src = rows});
    const View exponentials = builder_.sbuf("exponentials", {128, sequence_}, kSum);
    const View factors = softmax(scores, exponentials);
    const View weights = builder_.sbuf("weights", {128, sequence_}, kSum);
    builder_.loop(sequence_ / 512, [&](const Affine& kv) {
      builder_.emit(TensorScalar{.dst = weights.slice(1, kv * 512, 512),
                                 .data = exponentials.slice(1, kv * 512, 512),
                                 .operand0 = factors,
                                 .op0 = AluOp::kMultiply});
    });
    builder_.emit(DmaCopy{.dst = rows, .src = weights});
  }

  View attend(const View& weights, const View& transposed) {
    const View sum = builder_.psum("sum", {128, 128}, kSum);
    builder_.emit(Memset{sum, 0});
    builder_.loop(sequence_ / 128, [&](const Affine& kv) {
      builder_.emit(NcMatmul{.dst = sum,
                             .stationary = weights.select(1, kv),
                             .moving = transposed.select(1, kv),
                             .accumulate = true});
    });
    return sum;
  }

  Builder builder_;
  Dtype dtype_;
  int64_t sequence_;
  View q_, k_, v_, out_;
};

}  // namespace neuron_sim
