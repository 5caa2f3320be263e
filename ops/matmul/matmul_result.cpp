#include "ops/matmul/matmul_result.h"

#include <algorithm>

#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int kTileRing = 3;

bool same_for_all_rows(const MatmulOperands& operands) {
  return operands.addend.present() && operands.addend.dimension(0).stride == 0;
}
bool same_for_all_columns(const MatmulOperands& operands) {
  return operands.addend.present() && operands.addend.dimension(1).stride == 0;
}

}  // namespace

MatmulResult::MatmulResult(Builder& builder, const MatmulOperands& operands,
                           const Epilogue& epilogue, int64_t columns, int ring)
    : builder_(builder), epilogue_(epilogue) {
  if (!operands.addend.present()) return;
  const Limits& limits = builder.limits();
  const Dtype dtype = operands.addend.dtype();
  if (same_for_all_rows(operands)) {
    rows_ = builder.sbuf("addend_rows", {limits.partitions, columns}, dtype, ring);
  } else {
    const int64_t width = std::min(product_columns(limits), columns);
    tiles_ = builder.sbuf("addend", {limits.partitions, same_for_all_columns(operands) ? 1 : width},
                          dtype, kTileRing);
  }
}

int64_t MatmulResult::bytes_per_column(const MatmulOperands& operands) {
  return same_for_all_rows(operands) ? itemsize(operands.addend.dtype()) : 0;
}

int64_t MatmulResult::bytes(const Limits& limits, const MatmulOperands& operands) {
  if (!operands.addend.present() || same_for_all_rows(operands)) return 0;
  return kTileRing * product_columns(limits) * itemsize(operands.addend.dtype());
}

void MatmulResult::begin_panel(const MatmulOperands& operands, const Affine& column,
                               int64_t columns, const Affine& turn) {
  if (!rows_.present()) return;
  panel_ = rows_.turn(turn).slice(1, 0, columns);
  panel_column_ = column;
  const View row = operands.addend.slice(0, 0, 1).slice(1, column, columns);
  load(builder_, panel_, row.broadcast(0, builder_.limits().partitions), EngineKind::kScalar);
}

/// The addend of a window, in SBUF.
View MatmulResult::addend_of(const MatmulOperands& operands, const OutputTile& window,
                             const Affine& turn) {
  if (rows_.present()) {
    return panel_.slice(0, 0, window.rows).slice(1, window.column - panel_column_, window.columns);
  }
  const int64_t width = same_for_all_columns(operands) ? 1 : window.columns;
  const View tile = tiles_.turn(turn).slice(0, 0, window.rows).slice(1, 0, width);
  const Affine column = same_for_all_columns(operands) ? Affine(0) : window.column;
  load(builder_, tile, operands.addend.slice(0, window.row, window.rows).slice(1, column, width),
       EngineKind::kScalar);
  return width == window.columns ? tile : tile.broadcast(1, window.columns);
}

void MatmulResult::store(const MatmulOperands& operands, const View& psum, const View& staging,
                         const OutputTile& window, const Affine& turn) {
  if (!operands.addend.present() && operands.scale == 1) {
    return store_result(builder_, psum, staging, operands.out, window, epilogue_);
  }
  const View tile = staging.slice(0, 0, window.rows).slice(1, 0, window.columns);
  const bool plain = epilogue_.activation == Activation::kIdentity;
  if (operands.addend.present()) {
    const View addend = addend_of(operands, window, turn);
    if (operands.scale != 1) {
      builder_.emit(TensorScalar{.dst = psum,
                                 .data = psum,
                                 .op0 = AluOp::kMultiply,
                                 .constant0 = operands.scale,
                                 .engine = EngineKind::kVector});
    }
    const View sum = plain ? tile : psum;
    if (operands.addend_scale == 1) {
      builder_.emit(TensorTensor{.dst = sum, .data1 = psum, .data2 = addend});
    } else {
      builder_.emit(ScalarTensorTensor{.dst = sum,
                                       .data = addend,
                                       .operand1 = psum,
                                       .op0 = AluOp::kMultiply,
                                       .constant0 = operands.addend_scale});
    }
    if (!plain) builder_.emit(Activate{.dst = tile, .data = psum, .op = epilogue_.activation});
  } else {
    builder_.emit(
        Activate{.dst = tile, .data = psum, .op = epilogue_.activation, .scale = operands.scale});
  }
  neuron_sim::store(
      builder_,
      operands.out.slice(0, window.row, window.rows).slice(1, window.column, window.columns), tile);
}

}  // namespace neuron_sim
