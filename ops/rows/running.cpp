#include "ops/rows/running.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_tensor_scan.h"
#include "device/numerics/reduction.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/tiles.h"
#include "ops/reduction/reduction_dimensions.h"

namespace neuron_sim {
namespace {

constexpr int64_t kColumns = 2048;

class Running {
 public:
  Running(Builder& builder, AluOp op, const HbmTensor& operand, const HbmTensor& result)
      : builder_(builder), op_(op), operand_(operand), result_(result) {
    const auto leading = [](std::vector<int64_t> values) {
      values.pop_back();
      return values;
    };
    rows_ = collapse(leading(operand.shape), {leading(operand.strides), leading(result.strides)});
    row_ = largest(rows_);
    columns_ = std::min(operand.shape.back(), kColumns);
    partitions_ = builder.limits().partitions;
    const std::vector<int64_t> shape{partitions_, columns_};
    input_ = builder.sbuf("operand_tile", shape, operand.dtype(), kDoubleBuffer);
    sums_ = builder.sbuf("sums", shape, Dtype::kFloat32, kDoubleBuffer);
    output_ = builder.sbuf("result_tile", shape, result.dtype(), kDoubleBuffer);
    carry_ = builder.sbuf("carry", {partitions_, 1}, Dtype::kFloat32);
    // (x * 1) + carried, or (x + 0) * carried.
    neutral_ = builder.sbuf("neutral", {partitions_, 1}, Dtype::kFloat32);
    builder.emit(Memset{.dst = neutral_, .value = op == AluOp::kAdd ? 1.0 : 0.0});
  }

  void emit() {
    loop_over(builder_, rows_, {row_}, Starts(2, 0), [&](const Starts& outer) {
      for_tiles(builder_, rows_[row_].size, partitions_,
                [&](const Affine& row, int64_t count, const Affine&) {
                  emit_rows(moved(outer, rows_[row_], row), count);
                });
    });
  }

 private:
  void emit_rows(const Starts& starts, int64_t rows) {
    const View carry = carry_.slice(0, 0, rows);
    builder_.emit(Memset{.dst = carry, .value = reduction_identity(op_)});
    for_tiles(builder_, operand_.shape.back(), columns_,
              [&](const Affine& column, int64_t count, const Affine& turn) {
                const auto cut = [&](const View& ring) {
                  return ring.turn(turn).slice(0, 0, rows).slice(1, 0, count);
                };
                const View input = cut(input_), sums = cut(sums_), output = cut(output_);
                load(builder_, input, window(operand_, 0, starts, rows, column, count));
                scan(sums, input, carry);
                builder_.emit(TensorCopy{.dst = carry, .src = sums.slice(1, count - 1, 1)});
                builder_.emit(TensorCopy{.dst = output, .src = sums});
                store(builder_, window(result_, 1, starts, rows, column, count), output);
              });
  }

  /// dst_i = (dst_(i-1) op0 neutral) op1 input_i: the neutral operator keeps the carried value.
  void scan(const View& sums, const View& input, const View& carry) {
    const View neutral = neutral_.slice(0, 0, sums.size(0)).broadcast(1, sums.size(1));
    const bool add = op_ == AluOp::kAdd;
    builder_.emit(TensorTensorScan{.dst = sums,
                                   .data0 = neutral,
                                   .data1 = input,
                                   .initial = carry,
                                   .op0 = add ? AluOp::kMultiply : AluOp::kAdd,
                                   .op1 = op_});
  }

  View window(const HbmTensor& tensor, size_t index, const Starts& starts, int64_t rows,
              const Affine& column, int64_t columns) const {
    return tensor.view({rows, columns}, {rows_[row_].strides[index], tensor.strides.back()},
                       starts[index] + column * tensor.strides.back());
  }

  Builder& builder_;
  const AluOp op_;
  const HbmTensor operand_, result_;
  std::vector<SharedDimension> rows_;
  size_t row_ = 0;
  int64_t columns_ = 0, partitions_ = 0;
  View input_, sums_, output_, carry_, neutral_;
};

}  // namespace

void emit_running(Builder& builder, HbmTensors operands, HbmTensors results,
                  const RunningOptions& options) {
  builder.scope([&] { Running(builder, options.op, operands[0], results[0]).emit(); });
}

}  // namespace neuron_sim
