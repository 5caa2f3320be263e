#include "ops/rows/streaming_softmax_backward.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "ops/blocks/block_sums.h"
#include "ops/blocks/column_sums.h"
#include "ops/blocks/tiles.h"
#include "ops/rows/streaming_softmax.h"

namespace neuron_sim {
namespace {

/// body(matrices without their leading dimensions).
void for_leading(Builder& builder, const std::vector<View>& matrices,
                 const std::function<void(const std::vector<View>&)>& body) {
  if (matrices[0].rank() == 2) return body(matrices);
  builder.loop(matrices[0].size(0), [&](const Affine& index) {
    std::vector<View> parts;
    parts.reserve(matrices.size());
    for (const View& matrix : matrices) parts.push_back(matrix.select(0, index));
    for_leading(builder, parts, body);
  });
}

class StreamingSoftmaxBackward {
 public:
  StreamingSoftmaxBackward(Builder& builder, const View& bias) : builder_(builder), bias_(bias) {
    const int64_t partitions = builder.limits().partitions;
    columns_ = std::min(bias.size(0), kChunkColumns);
    const std::vector<int64_t> shape{partitions, columns_}, one{partitions, 1};
    gradient_ = builder.sbuf("gradient_chunk", shape, bias.dtype(), kDoubleBuffer);
    x_ = builder.sbuf("x_chunk", shape, bias.dtype(), kDoubleBuffer);
    bias_tile_ = builder.sbuf("bias", shape, bias.dtype(), kDoubleBuffer);
    result_ = builder.sbuf("result", shape, bias.dtype(), kDoubleBuffer);
    logits_ = builder.sbuf("logits", shape, Dtype::kFloat32, kDoubleBuffer);
    product_ = builder.sbuf("weighted_gradient", shape, Dtype::kFloat32, kDoubleBuffer);
    // Two turns of the negated maximum: before and after a chunk.
    maximum_ = builder.sbuf("row_maximum", one, Dtype::kFloat32, 2);
    sum_ = builder.sbuf("row_sum", one, Dtype::kFloat32);
    weighted_ = builder.sbuf("weighted_sum", one, Dtype::kFloat32);
    lowest_ = builder.sbuf("chunk_maximum", one, Dtype::kFloat32);
    block_sums_.emplace(builder, 1, columns_);
    part_ = builder.sbuf("chunk_sum", one, Dtype::kFloat32);
    weighted_part_ = builder.sbuf("weighted_chunk_sum", one, Dtype::kFloat32);
    factor_ = builder.sbuf("rescale", one, Dtype::kFloat32);
  }

  /// A tile of rows: views [rows, features].
  void emit_rows(const View& gradient, const View& x, const View& result) {
    rows_ = x.size(0);
    const int64_t features = bias_.size(0), chunks = ceiling(features, columns_);
    builder_.emit(Memset{.dst = per_row(maximum_), .value = std::numeric_limits<float>::max()});
    builder_.emit(Memset{.dst = per_row(sum_)});
    builder_.emit(Memset{.dst = per_row(weighted_)});
    for_tiles(builder_, features, columns_,
              [&](const Affine& column, int64_t count, const Affine& chunk) {
                load_chunk(gradient, x, column, count, chunk);
                add_chunk(count, chunk);
              });
    finish_sums();
    for_tiles(builder_, features, columns_,
              [&](const Affine& column, int64_t count, const Affine& chunk) {
                load_chunk(gradient, x, column, count, chunk + chunks);
                store_chunk(result.slice(1, column, count), maximum_.turn(chunks), chunk + chunks);
              });
  }

 private:
  View per_row(const View& tile) const { return tile.slice(0, 0, rows_); }
  View chunk_of(const View& ring, int64_t count, const Affine& turn) const {
    return per_row(ring.turn(turn)).slice(1, 0, count);
  }

  /// The gradient, and x + bias in fp32.
  void load_chunk(const View& gradient, const View& x, const Affine& column, int64_t count,
                  const Affine& turn) {
    const View bias = chunk_of(bias_tile_, count, turn), input = chunk_of(x_, count, turn);
    load(builder_, chunk_of(gradient_, count, turn), gradient.slice(1, column, count));
    load(builder_, input, x.slice(1, column, count));
    load(builder_, bias, bias_.slice(0, column, count).expand(0).broadcast(0, rows_));
    builder_.emit(TensorTensor{.dst = chunk_of(logits_, count, turn),
                               .data1 = input,
                               .data2 = bias,
                               .engine = EngineKind::kGpSimd});
  }

  /// Adds one chunk to the running maximum and both sums.
  void add_chunk(int64_t count, const Affine& turn) {
    const View logits = chunk_of(logits_, count, turn), product = chunk_of(product_, count, turn);
    const View before = per_row(maximum_.turn(turn)), after = per_row(maximum_.turn(turn + 1));
    builder_.emit(TensorReduce{
        .dst = per_row(lowest_), .data = logits, .op = AluOp::kMaximum, .negate = true});
    builder_.emit(TensorTensor{
        .dst = after, .data1 = before, .data2 = per_row(lowest_), .op = AluOp::kMinimum});
    builder_.emit(Activate{.dst = per_row(factor_),
                           .data = before,
                           .op = Activation::kExp,
                           .bias_tile = after,
                           .scale = -1});
    builder_.emit(Activate{.dst = logits,
                           .data = logits,
                           .op = Activation::kExp,
                           .bias_tile = after,
                           .reduce_res = per_row(part_),
                           .reduce_op = AluOp::kAdd,
                           .reduce_command = ReduceCommand::kResetReduce});
    builder_.emit(TensorTensor{.dst = product,
                               .data1 = chunk_of(gradient_, count, turn),
                               .data2 = logits,
                               .op = AluOp::kMultiply});
    block_sums_->emit({.dst = per_row(weighted_part_), .data = product}, turn);
    rescale(sum_, part_);
    rescale(weighted_, weighted_part_);
  }

  /// sum = sum * factor + part.
  void rescale(const View& sum, const View& part) {
    builder_.emit(TensorScalar{.dst = per_row(sum),
                               .data = per_row(sum),
                               .operand0 = per_row(factor_),
                               .operand1 = per_row(part),
                               .op0 = AluOp::kMultiply,
                               .op1 = AluOp::kAdd});
  }

  /// sum = 1 / sum, weighted = -weighted / sum^2.
  void finish_sums() {
    const View inverse = per_row(sum_), weighted = per_row(weighted_);
    builder_.emit(Reciprocal{.dst = inverse, .data = inverse});
    builder_.emit(TensorScalar{.dst = weighted,
                               .data = weighted,
                               .operand0 = inverse,
                               .operand1 = inverse,
                               .op0 = AluOp::kMultiply,
                               .op1 = AluOp::kMultiply});
    builder_.emit(
        TensorScalar{.dst = weighted, .data = weighted, .op0 = AluOp::kMultiply, .constant0 = -1});
  }

  void store_chunk(const View& target, const View& maximum, const Affine& turn) {
    const int64_t count = target.size(1);
    const View logits = chunk_of(logits_, count, turn), product = chunk_of(product_, count, turn);
    const View result = chunk_of(result_, count, turn);
    builder_.emit(Activate{
        .dst = logits, .data = logits, .op = Activation::kExp, .bias_tile = per_row(maximum)});
    builder_.emit(Activate{.dst = product,
                           .data = chunk_of(gradient_, count, turn),
                           .bias_tile = per_row(weighted_),
                           .scale_tile = per_row(sum_)});
    builder_.emit(
        TensorTensor{.dst = result, .data1 = product, .data2 = logits, .op = AluOp::kMultiply});
    store(builder_, target, result);
  }

  Builder& builder_;
  const View bias_;
  int64_t columns_ = 0, rows_ = 0;
  std::optional<BlockSums> block_sums_;
  View gradient_, x_, bias_tile_, result_, logits_, product_;
  View maximum_, sum_, weighted_, lowest_, part_, weighted_part_, factor_;
};

/// target = sums of the rows of all matrices of `source`.
void emit_column_sums(Builder& builder, const View& source, const View& target) {
  const int64_t partitions = builder.limits().partitions;
  const int64_t columns = std::min(target.size(0), kChunkColumns);
  ColumnSums sums(builder, source.dtype(), 1, columns);
  const View ring = builder.sbuf("rows", {partitions, 1, columns}, source.dtype(), 3);
  for_tiles(builder, target.size(0), columns,
            [&](const Affine& column, int64_t count, const Affine&) {
              sums.begin(count);
              for_leading(builder, {source}, [&](const std::vector<View>& matrix) {
                for_tiles(builder, matrix[0].size(0), partitions,
                          [&](const Affine& row, int64_t rows, const Affine& turn) {
                            const View tile = ring.turn(turn).slice(0, 0, rows).slice(2, 0, count);
                            load(builder, tile.select(1, 0),
                                 matrix[0].slice(0, row, rows).slice(1, column, count));
                            sums.add(tile);
                          });
              });
              sums.finish(target.slice(0, column, count));
            });
}

}  // namespace

void emit_streaming_softmax_backward(Builder& builder, const SoftmaxBackwardTensors& tensors) {
  builder.scope([&] {
    StreamingSoftmaxBackward kernel(builder, tensors.bias);
    for_leading(builder, {tensors.gradient, tensors.x, tensors.x_gradient},
                [&](const std::vector<View>& matrices) {
                  for_tiles(builder, matrices[1].size(0), builder.limits().partitions,
                            [&](const Affine& row, int64_t rows, const Affine&) {
                              const auto part = [&](const View& matrix) {
                                return matrix.slice(0, row, rows);
                              };
                              kernel.emit_rows(part(matrices[0]), part(matrices[1]),
                                               part(matrices[2]));
                            });
                });
  });
  builder.scope([&] { emit_column_sums(builder, tensors.x_gradient, tensors.bias_gradient); });
}

}  // namespace neuron_sim
