#include "ops/rows/streaming_softmax.h"

#include <algorithm>
#include <limits>

#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

class StreamingSoftmax {
 public:
  StreamingSoftmax(Builder& builder, const View& bias, Dtype dtype)
      : builder_(builder), bias_(bias) {
    partitions_ = builder.limits().partitions;
    features_ = bias.size(0);
    columns_ = std::min(features_, kChunkColumns);
    const std::vector<int64_t> shape{partitions_, columns_}, one{partitions_, 1};
    input_ = builder.sbuf("x_chunk", shape, dtype, kTripleBuffer);
    logits_ = builder.sbuf("logits", shape, Dtype::kFloat32, kTripleBuffer);
    output_ = builder.sbuf("result", shape, dtype, kTripleBuffer);
    // Two turns of the negated maximum: before and after a chunk.
    maximum_ = builder.sbuf("row_maximum", one, Dtype::kFloat32, 2);
    sum_ = builder.sbuf("row_sum", one, Dtype::kFloat32);
    chunk_maximum_ = builder.sbuf("chunk_maximum", one, Dtype::kFloat32, kTripleBuffer);
    chunk_sum_ = builder.sbuf("chunk_sum", one, Dtype::kFloat32, kTripleBuffer);
    factor_ = builder.sbuf("rescale", one, Dtype::kFloat32, kTripleBuffer);
    bias_is_resident_ =
        features_ * itemsize(bias.dtype()) <= builder.limits().sbuf_usable.count / 2;
    bias_tile_ = builder.sbuf("bias", {partitions_, bias_is_resident_ ? features_ : columns_},
                              bias.dtype(), bias_is_resident_ ? 1 : kTripleBuffer);
    if (bias_is_resident_) load_bias(bias_tile_, 0, features_);
  }

  /// x and out are [leading..., rows, features].
  void emit(const View& x, const View& out) {
    if (x.rank() > 2) {
      builder_.loop(x.size(0),
                    [&](const Affine& index) { emit(x.select(0, index), out.select(0, index)); });
      return;
    }
    for_tiles(builder_, x.size(0), partitions_,
              [&](const Affine& row, int64_t rows, const Affine&) {
                emit_rows(x.slice(0, row, rows), out.slice(0, row, rows));
              });
  }

 private:
  void load_bias(const View& tile, const Affine& column, int64_t columns) {
    load(builder_, tile, bias_.slice(0, column, columns).expand(0).broadcast(0, tile.partitions()));
  }

  static View cut(const View& ring, const Affine& turn, const View& like) {
    return ring.turn(turn).slice(0, 0, like.size(0)).slice(1, 0, like.size(1));
  }

  /// x + bias of one chunk, in fp32. `column` is its first column, `turn` counts chunks.
  View load_logits(const View& x, const Affine& column, const Affine& turn) {
    const View input = cut(input_, turn, x);
    View logits = cut(logits_, turn, x);
    load(builder_, input, x);
    View bias = bias_tile_.slice(0, 0, x.size(0));
    if (bias_is_resident_) {
      bias = bias.slice(1, column, x.size(1));
    } else {
      bias = cut(bias_tile_, turn, x);
      load_bias(bias, column, x.size(1));
    }
    builder_.emit(TensorTensor{.dst = logits, .data1 = input, .data2 = bias});
    return logits;
  }

  void emit_rows(const View& x, const View& out) {
    const int64_t rows = x.size(0), chunks = ceiling(features_, columns_);
    const View sum = sum_.slice(0, 0, rows);
    builder_.emit(Memset{.dst = maximum_.turn(0).slice(0, 0, rows),
                         .value = std::numeric_limits<float>::max()});
    builder_.emit(Memset{.dst = sum, .value = 0});
    for_tiles(builder_, features_, columns_,
              [&](const Affine& column, int64_t columns, const Affine& chunk) {
                add_chunk(x.slice(1, column, columns), column, chunk);
              });
    builder_.emit(Reciprocal{.dst = sum, .data = sum});
    for_tiles(builder_, features_, columns_,
              [&](const Affine& column, int64_t columns, const Affine& chunk) {
                // The rings keep rotating from where the first pass stopped.
                const View logits =
                    load_logits(x.slice(1, column, columns), column, chunk + chunks);
                store_chunk(out.slice(1, column, columns), logits,
                            maximum_.turn(chunks).slice(0, 0, rows), chunk + chunks);
              });
  }

  /// Adds one chunk to the running maximum and sum.
  void add_chunk(const View& x, const Affine& column, const Affine& chunk) {
    const int64_t rows = x.size(0);
    const auto rows_of = [&](const View& ring, const Affine& turn) {
      return ring.turn(turn).slice(0, 0, rows);
    };
    const View logits = load_logits(x, column, chunk);
    const View before = rows_of(maximum_, chunk), after = rows_of(maximum_, chunk + 1);
    const View lowest = rows_of(chunk_maximum_, chunk), part = rows_of(chunk_sum_, chunk);
    const View factor = rows_of(factor_, chunk), sum = sum_.slice(0, 0, rows);
    builder_.emit(
        TensorReduce{.dst = lowest, .data = logits, .op = AluOp::kMaximum, .negate = true});
    builder_.emit(
        TensorTensor{.dst = after, .data1 = before, .data2 = lowest, .op = AluOp::kMinimum});
    builder_.emit(Activate{
        .dst = factor, .data = before, .op = Activation::kExp, .bias_tile = after, .scale = -1});
    builder_.emit(Activate{.dst = logits,
                           .data = logits,
                           .op = Activation::kExp,
                           .bias_tile = after,
                           .reduce_res = part,
                           .reduce_op = AluOp::kAdd,
                           .reduce_command = ReduceCommand::kResetReduce});
    builder_.emit(TensorScalar{.dst = sum,
                               .data = sum,
                               .operand0 = factor,
                               .operand1 = part,
                               .op0 = AluOp::kMultiply,
                               .op1 = AluOp::kAdd});
  }

  void store_chunk(const View& out, const View& logits, const View& maximum, const Affine& turn) {
    const View output = cut(output_, turn, out);
    builder_.emit(
        Activate{.dst = logits, .data = logits, .op = Activation::kExp, .bias_tile = maximum});
    builder_.emit(Activate{.dst = output,
                           .data = logits,
                           .op = Activation::kIdentity,
                           .scale_tile = sum_.slice(0, 0, out.size(0))});
    store(builder_, out, output);
  }

  Builder& builder_;
  const View bias_;
  int64_t partitions_ = 0, features_ = 0, columns_ = 0;
  bool bias_is_resident_ = false;
  View input_, logits_, output_, bias_tile_;
  View maximum_, sum_, chunk_maximum_, chunk_sum_, factor_;
};

}  // namespace

void emit_streaming_softmax(Builder& builder, const View& x, const View& bias, const View& out) {
  builder.scope([&] { StreamingSoftmax(builder, bias, x.dtype()).emit(x, out); });
}

}  // namespace neuron_sim
