#include "ops/pooling/max_pool.h"

#include <algorithm>
#include <vector>

#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/fusion_traits.h"
#include "ops/pooling/max_pool_regions.h"

namespace neuron_sim {
namespace {

/// Most inputs of any `count` outputs that start at a multiple of `count`.
int64_t most_inputs(const AxisWindows& axis, int64_t count) {
  int64_t most = 1;
  for (int64_t first = 0; first < axis.outputs(); first += count) {
    most =
        std::max(most, window_inputs(axis, first, std::min(count, axis.outputs() - first)).count);
  }
  return most;
}

/// Whether Vector has less to do when the columns of windows are reduced first, for all rows of the
/// input, and then their rows: where windows overlap enough.
bool is_separable(const PoolingWindows& windows, bool has_indices) {
  const int64_t outputs = windows.rows.outputs();
  const int64_t inputs = window_inputs(windows.rows, 0, outputs).count;
  const int64_t down = windows.rows.largest(), across = windows.columns.largest();
  // One instruction copies the first element, so many combine the next; rows add offsets first.
  const int64_t combine = has_indices ? 4 : 1, add_up = has_indices ? 5 : 1;
  const int64_t together = (combine * (down * across - 1) + 1) * outputs;
  const int64_t apart = (combine * (across - 1) + 1) * inputs + (add_up * (down - 1) + 1) * outputs;
  return apart < together;
}

/// The one window of each of `range`, itself.
WindowRun alone(const AxisRange& range) {
  return {.first = range.first,
          .count = range.count,
          .start = range.first,
          .input = range.first,
          .input_step = 1,
          .first_tap = 0,
          .taps = 1};
}

class MaxPool {
 public:
  MaxPool(Builder& builder, const HbmTensor& input, HbmTensors results,
          const PoolingWindows& windows)
      : builder_(builder),
        windows_(windows),
        tensors_(joined(input, results)),
        separable_(is_separable(windows, results.size() == 2)),
        bands_(plan_bands(builder.architecture(), "max_pool", results[0].shape[2],
                          results[0].shape[3], results[0].shape[0] * results[0].shape[1],
                          [&](int64_t r, int64_t c) { return bytes(r, c); })),
        planes_(builder.limits(), tensors_, bands_.group) {
    const int64_t input_rows = most_inputs(windows.rows, bands_.rows);
    const int64_t inputs = input_rows * most_inputs(windows.columns, bands_.columns);
    const int64_t outputs = bands_.rows * bands_.columns, rows = input_rows * bands_.columns;
    source_ = rings("input_planes", inputs, {.not_a_number = has_indices()});
    if (separable_) {
      rows_ = rings("row_maximum", rows, {has_indices(), has_indices(), has_indices(), false});
    }
    result_ = rings("maximum", outputs,
                    {has_indices(), has_indices(), false, has_indices() && separable_});
    if (!has_indices()) return;
    words_ = ring("index_words", 2 * outputs, Dtype::kInt32);
    starts_ = builder.sbuf("window_starts", {planes_.partitions(), outputs}, Dtype::kFloat32);
  }

  void emit() {
    // The high words of all indices stay zero.
    builder_.loop(has_indices() ? kDoubleBuffer : 0, [&](const Affine& i) {
      builder_.emit(Memset{.dst = words_.turn(i), .engine = EngineKind::kGpSimd});
    });
    const int64_t height = windows_.rows.outputs(), width = windows_.columns.outputs();
    for (int64_t row = 0; row < height; row += bands_.rows) {
      for (int64_t column = 0; column < width; column += bands_.columns) {
        emit_window({row, std::min(bands_.rows, height - row), column,
                     std::min(bands_.columns, width - column)});
      }
    }
  }

 private:
  /// Elements of planes, or rings of them: where a later one beats the maximum so far, the offset
  /// of the last that did, which are NaN, and offsets that might win. Absent where nothing reads
  /// them.
  struct Tiles {
    View values{}, beats{}, offset{}, not_a_number{}, candidate{};
  };
  struct Needs {
    bool beats = false, offset = false, not_a_number = false, candidate = false;
  };

  static std::vector<HbmTensor> joined(const HbmTensor& input, HbmTensors results) {
    std::vector<HbmTensor> tensors{input};
    tensors.insert(tensors.end(), results.begin(), results.end());
    return tensors;
  }
  bool has_indices() const { return tensors_.size() == 3; }

  int64_t bytes(int64_t rows, int64_t columns) const {
    const int64_t input_rows = most_inputs(windows_.rows, rows);
    const int64_t inputs = input_rows * most_inputs(windows_.columns, columns);
    const int64_t outputs = rows * columns, row_maxima = separable_ ? input_rows * columns : 0;
    const int64_t element = itemsize(tensors_[0].dtype());
    if (!has_indices()) return kDoubleBuffer * (inputs + row_maxima + outputs) * element;
    const int64_t candidates = separable_ ? outputs * 4 : 0;
    return kDoubleBuffer * (inputs * (element + 2) + row_maxima * (element + 2 + 4 + 2) +
                            candidates + outputs * (element + 2 + 4 + 8)) +
           outputs * 4;
  }

  View ring(const std::string& label, int64_t elements, Dtype dtype) const {
    return builder_.sbuf(label, {planes_.partitions(), planes_.group() * elements}, dtype,
                         kDoubleBuffer);
  }
  Tiles rings(const std::string& label, int64_t elements, const Needs& needs) const {
    Tiles made{.values = ring(label, elements, tensors_[0].dtype())};
    if (needs.beats) made.beats = ring(label + "_beats", elements, Dtype::kFloat16);
    if (needs.offset) made.offset = ring(label + "_offset", elements, Dtype::kFloat32);
    if (needs.not_a_number) made.not_a_number = ring(label + "_nan", elements, Dtype::kFloat16);
    if (needs.candidate) made.candidate = ring(label + "_candidate", elements, Dtype::kFloat32);
    return made;
  }
  static Tiles cut(const PlanePiece& piece, const Tiles& rings, int64_t rows, int64_t columns) {
    const auto of = [&](const View& ring) {
      return ring.present() ? piece.cut(ring.turn(piece.turn), rows, columns) : View();
    };
    return {of(rings.values), of(rings.beats), of(rings.offset), of(rings.not_a_number),
            of(rings.candidate)};
  }

  void emit_window(const PlaneWindow& outputs) {
    const AxisRange rows = window_inputs(windows_.rows, outputs.row, outputs.rows);
    const AxisRange columns = window_inputs(windows_.columns, outputs.column, outputs.columns);
    const PlaneWindow inputs{rows.first, rows.count, columns.first, columns.count};
    if (has_indices()) emit_window_starts(builder_, windows_, outputs, starts_);
    planes_.for_each(builder_,
                     [&](const PlanePiece& piece) { emit_piece(piece, inputs, outputs); });
  }

  void emit_piece(const PlanePiece& piece, const PlaneWindow& inputs, const PlaneWindow& outputs) {
    const Tiles source = cut(piece, source_, inputs.rows, inputs.columns);
    const Tiles result = cut(piece, result_, outputs.rows, outputs.columns);
    load(builder_, source.values, piece.view(tensors_[0], 0, inputs));
    mark_not_a_number(source);
    if (separable_) {
      emit_apart(source, cut(piece, rows_, inputs.rows, outputs.columns), result, inputs, outputs);
    } else {
      for_regions(windows_, outputs, inputs, [&](const PoolRegion& region) {
        emit_region(region, source, inputs, result, outputs);
      });
    }
    store(builder_, piece.view(tensors_[1], 1, outputs), result.values);
    if (has_indices()) store_indices(piece, result.offset, outputs);
  }

  void mark_not_a_number(const Tiles& tiles) {
    if (!has_indices()) return;
    builder_.emit(TensorTensor{.dst = tiles.not_a_number,
                               .data1 = tiles.values,
                               .data2 = tiles.values,
                               .op = AluOp::kNotEqual,
                               .engine = EngineKind::kGpSimd});
  }

  /// Maxima of windows of one row, for every row of the input, then those of their rows. The winner
  /// is the same: elements of a window's row come before those of its next one.
  void emit_apart(const Tiles& source, const Tiles& rows, const Tiles& result,
                  const PlaneWindow& inputs, const PlaneWindow& outputs) {
    const PlaneWindow between{inputs.row, inputs.rows, outputs.column, outputs.columns};
    const WindowRun every_row = alone({inputs.row, inputs.rows});
    for (const WindowRun& run : window_runs(windows_.columns, outputs.column, outputs.columns,
                                            inputs.column, inputs.column + inputs.columns)) {
      emit_region({every_row, run, windows_}, source, inputs, rows, between);
    }
    mark_not_a_number(rows);
    const WindowRun every_column = alone({outputs.column, outputs.columns});
    for (const WindowRun& run : window_runs(windows_.rows, outputs.row, outputs.rows, inputs.row,
                                            inputs.row + inputs.rows)) {
      emit_region({run, every_column, windows_}, rows, between, result, outputs);
    }
  }

  /// The maxima of a region's windows, `from` the elements of one rectangle into those of another.
  /// A later element wins if it is larger than the maximum so far, which an earlier NaN prevents
  /// for good, or if it is NaN.
  void emit_region(const PoolRegion& region, const Tiles& from, const PlaneWindow& inputs,
                   const Tiles& into, const PlaneWindow& outputs) {
    const auto target = [&](const View& tile) {
      return tile.present() ? region.of_outputs(tile, outputs.row, outputs.column) : View();
    };
    const Tiles to{
        target(into.values), target(into.beats), target(into.offset), {}, target(into.candidate)};
    bool first = true;
    region.for_taps([&](int64_t y, int64_t x) {
      const auto of_tap = [&](const View& tile) {
        return tile.present() ? region.of_inputs(tile, inputs.row, inputs.column, y, x) : View();
      };
      const Tiles tap{of_tap(from.values), {}, of_tap(from.offset), of_tap(from.not_a_number), {}};
      first ? emit_first(tap, to, region.offset(y, x)) : emit_later(tap, to, region.offset(y, x));
      first = false;
    });
  }

  void emit_first(const Tiles& tap, const Tiles& to, double offset) {
    builder_.emit(TensorCopy{.dst = to.values, .src = tap.values});
    if (!to.offset.present()) return;
    if (!tap.offset.present()) {
      builder_.emit(Memset{.dst = to.offset, .value = offset});
      return;
    }
    builder_.emit(TensorScalar{.dst = to.offset, .data = tap.offset, .constant0 = offset});
  }

  /// Offsets ascend, so the last winner's is the largest.
  void emit_later(const Tiles& tap, const Tiles& to, double offset) {
    if (to.beats.present()) combine(to.beats, tap.values, to.values, AluOp::kGreater);
    combine(to.values, tap.values, to.values, AluOp::kMaximum);  // of equals the second one
    if (!to.beats.present()) return;
    combine(to.beats, to.beats, tap.not_a_number, AluOp::kMaximum);
    if (!tap.offset.present()) {
      builder_.emit(ScalarTensorTensor{.dst = to.offset,
                                       .data = to.beats,
                                       .operand1 = to.offset,
                                       .op0 = AluOp::kMultiply,
                                       .constant0 = offset,
                                       .op1 = AluOp::kMaximum});
      return;
    }
    builder_.emit(ScalarTensorTensor{.dst = to.candidate,
                                     .data = tap.offset,
                                     .operand1 = to.beats,
                                     .op0 = AluOp::kAdd,
                                     .constant0 = offset,
                                     .op1 = AluOp::kMultiply});
    combine(to.offset, to.candidate, to.offset, AluOp::kMaximum);
  }

  void combine(const View& dst, const View& left, const View& right, AluOp op) {
    builder_.emit(TensorTensor{
        .dst = dst, .data1 = left, .data2 = right, .op = op, .engine = EngineKind::kVector});
  }

  void store_indices(const PlanePiece& piece, const View& offset, const PlaneWindow& outputs) {
    const int64_t elements = outputs.rows * outputs.columns;
    const View words = piece.cut(words_.turn(piece.turn), outputs.rows, 2 * outputs.columns)
                           .split(3, outputs.columns, 2);
    const View starts = starts_.slice(0, 0, piece.partitions)
                            .slice(1, 0, elements)
                            .split(1, outputs.rows, outputs.columns)
                            .expand(1)
                            .broadcast(1, piece.group);
    builder_.emit(TensorTensor{.dst = words.select(4, 0),
                               .data1 = offset,
                               .data2 = starts,
                               .engine = EngineKind::kVector});
    store(builder_, piece.view(tensors_[2], 2, outputs), words);
  }

  Builder& builder_;
  const PoolingWindows& windows_;
  const std::vector<HbmTensor> tensors_;  ///< input, output, indices if there are any
  const bool separable_;
  const PlaneBands bands_;
  const PlaneTiles planes_;
  Tiles source_, rows_, result_;
  View words_, starts_;
};

}  // namespace

void emit_max_pool(Builder& builder, HbmTensors operands, HbmTensors results,
                   const PoolingWindows& windows) {
  check_plane("max_pool", windows);
  builder.scope([&] { MaxPool(builder, operands[0], results, windows).emit(); });
}

const KernelDefinition<PoolingWindows> kMaxPool{
    .name = "max_pool",
    .emit = emit_max_pool,
    .traits = [](std::span<const TensorSpec>, const PoolingWindows& windows) {
      FusionTraits traits{.operands = {{.batched = true}}};
      traits.set(windows);
      return traits;
    }};

}  // namespace neuron_sim
