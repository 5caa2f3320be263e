#include "ops/rows/running.h"

#include <algorithm>
#include <vector>

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
  Running(Builder& builder, AluOp op, HbmTensors operands, const HbmTensor& result)
      : builder_(builder), op_(op), tensors_(operands.begin(), operands.end()) {
    tensors_.push_back(result);
    const HbmTensor& operand = operands[0];
    const auto leading = [](std::vector<int64_t> values) {
      values.pop_back();
      return values;
    };
    std::vector<std::vector<int64_t>> strides;
    for (const HbmTensor& tensor : tensors_) strides.push_back(leading(tensor.strides));
    rows_ = collapse(leading(operand.shape), strides);
    row_ = largest(rows_);
    columns_ = std::min(operand.shape.back(), kColumns);
    partitions_ = builder.limits().partitions;
    const std::vector<int64_t> shape{partitions_, columns_};
    input_ = builder.sbuf("operand_tile", shape, operand.dtype(), kDoubleBuffer);
    results_ = builder.sbuf("results", shape, Dtype::kFloat32, kDoubleBuffer);
    output_ = builder.sbuf("result_tile", shape, result.dtype(), kDoubleBuffer);
    carry_ = builder.sbuf("carry", {partitions_, 1}, Dtype::kFloat32);
    if (operands.size() > 1) {
      factors_ = builder.sbuf("factors", shape, operands[1].dtype(), kDoubleBuffer);
      return;
    }
    neutral_ = builder.sbuf("neutral", {partitions_, 1}, Dtype::kFloat32);
    builder.emit(Memset{.dst = neutral_, .value = neutral_value()});
  }

  void emit() {
    loop_over(builder_, rows_, {row_}, Starts(tensors_.size(), 0), [&](const Starts& outer) {
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
    for_tiles(builder_, tensors_[0].shape.back(), columns_,
              [&](const Affine& column, int64_t count, const Affine& turn) {
                const auto cut = [&](const View& ring) {
                  return ring.turn(turn).slice(0, 0, rows).slice(1, 0, count);
                };
                const auto hbm = [&](size_t tensor) {
                  return window(tensor, starts, rows, column, count);
                };
                const View input = cut(input_), results = cut(results_), output = cut(output_);
                load(builder_, input, hbm(0));
                View factors;
                if (factors_.present()) {
                  factors = cut(factors_);
                  load(builder_, factors, hbm(1));
                }
                scan(results, input, factors, carry);
                builder_.emit(TensorCopy{.dst = carry, .src = results.slice(1, count - 1, 1)});
                builder_.emit(TensorCopy{.dst = output, .src = results});
                store(builder_, hbm(tensors_.size() - 1), output);
              });
  }

  bool is_extremum() const { return op_ == AluOp::kMaximum || op_ == AluOp::kMinimum; }
  /// (x * 1) + carried, (x + 0) * carried, or the extremum of x, carried and the identity.
  double neutral_value() const {
    return is_extremum() ? reduction_identity(op_) : op_ == AluOp::kAdd ? 1.0 : 0.0;
  }
  AluOp carrying_operator() const {
    if (is_extremum()) return op_;
    return op_ == AluOp::kAdd ? AluOp::kMultiply : AluOp::kAdd;
  }

  /// dst_i = (dst_(i-1) op0 data0_i) op1 input_i: without factors, the neutral operator keeps the
  /// carried value.
  void scan(const View& results, const View& input, const View& factors, const View& carry) {
    const View data0 = factors.present()
                           ? factors
                           : neutral_.slice(0, 0, results.size(0)).broadcast(1, results.size(1));
    builder_.emit(TensorTensorScan{.dst = results,
                                   .data0 = data0,
                                   .data1 = input,
                                   .initial = carry,
                                   .op0 = carrying_operator(),
                                   .op1 = op_});
  }

  View window(size_t index, const Starts& starts, int64_t rows, const Affine& column,
              int64_t columns) const {
    const HbmTensor& tensor = tensors_[index];
    return tensor.view({rows, columns}, {rows_[row_].strides[index], tensor.strides.back()},
                       starts[index] + column * tensor.strides.back());
  }

  Builder& builder_;
  const AluOp op_;
  std::vector<HbmTensor> tensors_;  ///< the operands, then the result
  std::vector<SharedDimension> rows_;
  size_t row_ = 0;
  int64_t columns_ = 0, partitions_ = 0;
  View input_, factors_, results_, output_, carry_, neutral_;
};

}  // namespace

void emit_running(Builder& builder, HbmTensors operands, HbmTensors results,
                  const RunningOptions& options) {
  builder.scope([&] { Running(builder, options.op, operands, results[0]).emit(); });
}

}  // namespace neuron_sim
