#include "ops/matmul/matmul_result.h"

#include <algorithm>

#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"
#include "ops/pointwise/tile_loader.h"

namespace neuron_sim {
namespace {

constexpr int kTileRing = 3;
constexpr int kGateRing = 4;  // the row tiles that the streamed plan accumulates together

bool same_for_all_rows(const MatmulOperands& operands) {
  return operands.addend.present() &&
         (operands.rows() == 1 || operands.addend.dimension(0).stride == 0);
}
/// Whether the PE array adds the row to the sums of a product, so that one instruction of any
/// engine empties PSUM. The same bytes: one fp32 addition to each sum.
bool adds_row(const MatmulOperands& operands) {
  return same_for_all_rows(operands) && operands.scale == 1 && operands.addend_scale == 1;
}
bool same_for_all_columns(const MatmulOperands& operands) {
  return operands.addend.present() && operands.addend.dimension(1).stride == 0;
}

/// Whether the addend is a number per row that the instruction adds which empties PSUM.
bool adds_column(const MatmulOperands& operands) {
  return operands.is_turned && same_for_all_columns(operands) && operands.rows() > 1 &&
         operands.scale == 1 && operands.addend_scale == 1;
}

/// The row tile that begins at `row`, a multiple of a tile.
Affine tile_at(const Affine& row, int64_t partitions) {
  Affine tile = row.constant() / partitions;
  for (int level = 0; level < row.levels(); ++level) {
    tile += Affine::variable(level) * (row.coefficient(level) / partitions);
  }
  return tile;
}

/// Up to so many row tiles load a row that they share again beside the products. A whole panel of
/// it keeps the first product waiting and takes room from the panel's operand.
constexpr int64_t kReloadingRowTiles = 16;

/// Whether the row tiles share one copy of another operand's row.
bool shares_row(const Limits& limits, const MatmulOperands& operands, const View& other) {
  return operands.rows() > kReloadingRowTiles * limits.partitions &&
         other.dimension(0).stride == 0 && other.dimension(1).stride != 0;
}

}  // namespace

MatmulResult::MatmulResult(Builder& builder, const MatmulOperands& operands,
                           const Epilogue& epilogue, int64_t columns, int ring)
    : builder_(builder), epilogue_(epilogue) {
  const Limits& limits = builder.limits();
  const int64_t window = std::min(product_columns(limits), columns);
  for (const View& other : operands.others) {
    const bool shares = shares_row(limits, operands, other);
    others_.push_back(builder.sbuf("other_operand", {limits.partitions, shares ? columns : window},
                                   other.dtype(), shares ? ring : kTileRing));
  }
  shared_.resize(others_.size());
  if (!operands.gate.empty()) {
    gate_ =
        std::make_unique<MatmulResult>(builder, operands.gate.front(), Epilogue{}, columns, ring);
    gates_ = builder.sbuf("gate", {limits.partitions, window}, operands.gate_dtype, kGateRing);
  }
  if (operands.after != nullptr) {
    after_.emplace(builder, *operands.after, limits.partitions, window);
  }
  if (!operands.addend.present()) return;
  const Dtype dtype = operands.addend.dtype();
  if (adds_column(operands)) {
    const int64_t partitions = limits.partitions, tiles = ceiling(operands.rows(), partitions);
    transposer_.emplace(builder, Dtype::kFloat32, 1, operands.transpose_engine);
    staged_ = builder.sbuf("addend_rows", {std::min(partitions, tiles), partitions}, dtype,
                           kDoubleBuffer);
    if (dtype != Dtype::kFloat32) {
      cast_ = builder.sbuf("addend_cast", {std::min(partitions, tiles), partitions},
                           Dtype::kFloat32, kDoubleBuffer);
    }
    columns_ = builder.sbuf("addend_column", {partitions, tiles}, Dtype::kFloat32, kDoubleBuffer);
  } else if (same_for_all_rows(operands)) {
    const bool adds = adds_row(operands);
    spreader_.emplace(builder, dtype, columns, !adds);
    if (!adds) rows_ = builder.sbuf("addend_rows", {limits.partitions, columns}, dtype, ring);
  } else {
    tiles_ =
        builder.sbuf("addend", {limits.partitions, same_for_all_columns(operands) ? 1 : window},
                     dtype, kTileRing);
  }
}

int64_t MatmulResult::bytes_per_column(const Limits& limits, const MatmulOperands& operands) {
  int64_t bytes = 0;
  for (const MatmulOperands& gate : operands.gate) bytes += bytes_per_column(limits, gate);
  for (const View& other : operands.others) {
    if (shares_row(limits, operands, other)) bytes += itemsize(other.dtype());
  }
  if (!same_for_all_rows(operands) || adds_column(operands)) return bytes;
  const Dtype dtype = operands.addend.dtype();
  return bytes + RowSpreader::bytes(dtype, 1) + (adds_row(operands) ? 0 : itemsize(dtype));
}

int64_t MatmulResult::bytes(const Architecture& architecture, const MatmulOperands& operands) {
  int64_t element = 0, column = 0;
  if (adds_column(operands)) {
    const int64_t partitions = architecture.limits.partitions;
    // As loaded, maybe cast to fp32, and as numbers.
    const int64_t numbers = 2 * partitions + ceiling(operands.rows(), partitions);
    column = kDoubleBuffer * numbers * itemsize(Dtype::kFloat32);
  } else if (operands.addend.present() && !same_for_all_rows(operands)) {
    element += int64_t{kTileRing} * itemsize(operands.addend.dtype());
  }
  for (const View& other : operands.others) {
    if (shares_row(architecture.limits, operands, other)) continue;
    element += int64_t{kTileRing} * itemsize(other.dtype());
  }
  if (operands.after != nullptr) {
    element += ExpressionEmitter::bytes_per_element({*operands.after, architecture.features});
  }
  for (const MatmulOperands& gate : operands.gate) {
    element += int64_t{kGateRing} * itemsize(operands.gate_dtype);
    column += bytes(architecture, gate);
  }
  return element * product_columns(architecture.limits) + column;
}

/// Numbers of row tiles from `first_tile` on: HBM [tiles, rows of a tile]. `call` counts calls.
void MatmulResult::load_column(const View& numbers, const Affine& first_tile, const Affine& call) {
  const int64_t tiles = numbers.size(0), rows = numbers.size(1);
  const auto cut = [&](const View& ring) {
    return ring.turn(call).slice(0, 0, tiles).slice(1, 0, rows);
  };
  View staged = cut(staged_);
  load(builder_, staged, numbers, EngineKind::kScalar);
  if (cast_.present()) {
    builder_.emit(TensorCopy{.dst = cut(cast_), .src = staged});
    staged = cut(cast_);
  }
  transposer_->transpose(
      column_.slice(0, 0, rows).slice(1, first_tile, tiles).expand(1),
      [&](int64_t) { return staged; }, call);
}

void MatmulResult::begin_product(const MatmulOperands& operands, const Affine& turn) {
  if (gate_) gate_->begin_product(operands.gate.front(), turn);
  if (!columns_.present()) return;
  column_ = columns_.turn(turn);
  const int64_t partitions = builder_.limits().partitions;
  const int64_t full = operands.rows() / partitions, rest = operands.rows() % partitions;
  const View numbers = operands.addend.select(1, 0);
  const int64_t calls = ceiling(full, partitions) + (rest > 0 ? 1 : 0);
  for (int64_t tile = 0, call = 0; tile < full; tile += partitions, ++call) {
    const int64_t tiles = std::min(partitions, full - tile);
    load_column(numbers.slice(0, tile * partitions, tiles * partitions).split(0, tiles, partitions),
                tile, turn * calls + call);
  }
  if (rest == 0) return;
  load_column(numbers.slice(0, full * partitions, rest).expand(0), full, turn * calls + calls - 1);
}

void MatmulResult::begin_panel(const MatmulOperands& operands, const Affine& column,
                               int64_t columns, const Affine& turn) {
  if (gate_) gate_->begin_panel(operands.gate.front(), column, columns, turn);
  panel_column_ = column;
  const Limits& limits = builder_.limits();
  for (size_t i = 0; i < others_.size(); ++i) {
    const View& other = operands.others[i];
    if (!shares_row(limits, operands, other)) continue;
    const View row = other.slice(0, 0, limits.partitions).slice(1, column, columns);
    shared_[i] = load_repeating(builder_, others_[i], row, turn);
  }
  if (!spreader_) return;
  spreader_->load(operands.addend.slice(0, 0, 1).slice(1, column, columns), turn);
  if (!rows_.present()) return;
  panel_ = rows_.turn(turn).slice(1, 0, columns);
  spreader_->spread(panel_);
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

void MatmulResult::scale(const MatmulOperands& operands, const View& psum) {
  builder_.emit(TensorScalar{.dst = psum,
                             .data = psum,
                             .op0 = AluOp::kMultiply,
                             .constant0 = operands.scale,
                             .engine = EngineKind::kVector});
}

/// sum = psum + addend_scale * addend.
void MatmulResult::add(const MatmulOperands& operands, const View& psum, const View& sum,
                       const OutputTile& window, const Affine& turn) {
  const View addend = addend_of(operands, window, turn);
  if (operands.addend_scale == 1) {
    builder_.emit(TensorTensor{.dst = sum, .data1 = psum, .data2 = addend});
    return;
  }
  builder_.emit(ScalarTensorTensor{.dst = sum,
                                   .data = addend,
                                   .operand1 = psum,
                                   .op0 = AluOp::kMultiply,
                                   .constant0 = operands.addend_scale});
}

void MatmulResult::emit_after(const MatmulOperands& operands, const View& psum, const View& tile,
                              const OutputTile& window, const Affine& turn) {
  std::vector<View> inputs{psum};
  for (size_t i = 0; i < others_.size(); ++i) {
    if (shared_[i].present()) {
      inputs.push_back(shared_[i]
                           .slice(0, 0, window.rows)
                           .slice(1, window.column - panel_column_, window.columns));
      continue;
    }
    const View hbm = operands.others[i]
                         .slice(0, window.row, window.rows)
                         .slice(1, window.column, window.columns);
    inputs.push_back(load_repeating(builder_, others_[i], hbm, turn));
  }
  if (gate_) inputs.push_back(gate_tile(window, turn));
  after_->emit(inputs, {tile}, turn);
}

/// tile = the product and the number of each row, as the function or the expression wants it.
void MatmulResult::add_column(const MatmulOperands& operands, const View& psum, const View& tile,
                              const OutputTile& window, const Affine& turn) {
  const View number = column_.slice(0, 0, window.rows)
                          .slice(1, tile_at(window.row, builder_.limits().partitions), 1);
  if (operands.after == nullptr && epilogue_.activation != Activation::kIdentity) {
    builder_.emit(
        Activate{.dst = tile, .data = psum, .op = epilogue_.activation, .bias_tile = number});
    return;
  }
  builder_.emit(TensorScalar{.dst = operands.after == nullptr ? tile : psum,
                             .data = psum,
                             .operand0 = number,
                             .op0 = AluOp::kAdd});
  if (operands.after != nullptr) emit_after(operands, psum, tile, window, turn);
}

View MatmulResult::gate_tile(const OutputTile& window, const Affine& turn) const {
  return gates_.turn(turn).slice(0, 0, window.rows).slice(1, 0, window.columns);
}

void MatmulResult::evict_gate(const MatmulOperands& operands, const View& psum,
                              const OutputTile& window, const Affine& turn) {
  gate_->evict(operands.gate.front(), psum, gate_tile(window, turn), window, turn);
}

void MatmulResult::evict(const MatmulOperands& operands, const View& psum, const View& tile,
                         const OutputTile& window, const Affine& turn) {
  if (column_.present()) return add_column(operands, psum, tile, window, turn);
  const bool row_is_added = spreader_ && !rows_.present();
  if (row_is_added) spreader_->add(psum, window.column - panel_column_);
  const bool adds = operands.addend.present() && !row_is_added;
  if (operands.after != nullptr) {
    if (operands.scale != 1) scale(operands, psum);
    if (adds) add(operands, psum, psum, window, turn);
    return emit_after(operands, psum, tile, window, turn);
  }
  if (!adds && operands.scale == 1) return evacuate(builder_, psum, tile, epilogue_);
  Activate activate{.dst = tile, .data = psum, .op = epilogue_.activation};
  if (!adds) {
    activate.scale = operands.scale;
    builder_.emit(activate);
    return;
  }
  if (operands.scale != 1) scale(operands, psum);
  const bool plain = epilogue_.activation == Activation::kIdentity;
  add(operands, psum, plain ? tile : psum, window, turn);
  if (!plain) builder_.emit(activate);
}

void MatmulResult::store(const MatmulOperands& operands, const View& tile,
                         const OutputTile& window) {
  neuron_sim::store(
      builder_,
      operands.out.slice(0, window.row, window.rows).slice(1, window.column, window.columns), tile);
}

}  // namespace neuron_sim
