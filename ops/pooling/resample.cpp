#include "ops/pooling/resample.h"

#include <algorithm>
#include <array>

#include "device/base/errors.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/plane_tiles.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

class Resample {
 public:
  Resample(Builder& builder, const HbmTensor& input, const HbmTensor& output, const AxisTaps& rows,
           const AxisTaps& columns)
      : builder_(builder),
        tensors_{input, output},
        rows_(rows),
        columns_(columns),
        by_rows_(!is_identity(rows)),
        bands_(plan_bands(builder.architecture(), "resample", output.shape[2], output.shape[3],
                          output.shape[0] * output.shape[1],
                          [&](int64_t r, int64_t c) { return bytes(r, c); })),
        planes_(builder.limits(), tensors_, bands_.group) {
    const int64_t most_columns = most_inputs(columns, bands_.columns);
    const int64_t inputs = most_inputs(rows, bands_.rows) * most_columns;
    const int64_t outputs = bands_.rows * bands_.columns;
    const auto ring = [&](const char* label, int64_t elements, Dtype dtype) {
      return builder.sbuf(label, {planes_.partitions(), planes_.group() * elements}, dtype,
                          kDoubleBuffer);
    };
    source_ = ring("input_planes", inputs, input.dtype());
    if (by_rows_) between_ = ring("row_sums", bands_.rows * most_columns, Dtype::kFloat32);
    sums_ = ring("sums", outputs, Dtype::kFloat32);
    if (output.dtype() != Dtype::kFloat32) result_ = ring("output_planes", outputs, output.dtype());
  }

  void emit() {
    const int64_t height = tensors_[1].shape[2], width = tensors_[1].shape[3];
    for (int64_t row = 0; row < height; row += bands_.rows) {
      for (int64_t column = 0; column < width; column += bands_.columns) {
        emit_window({row, std::min(bands_.rows, height - row), column,
                     std::min(bands_.columns, width - column)});
      }
    }
  }

 private:
  int64_t bytes(int64_t rows, int64_t columns) const {
    const int64_t width = most_inputs(columns_, columns);
    const int64_t inputs = most_inputs(rows_, rows) * width, outputs = rows * columns;
    return kDoubleBuffer *
           (inputs * itemsize(tensors_[0].dtype()) + outputs * 4 +
            outputs * itemsize(tensors_[1].dtype()) + (by_rows_ ? rows * width * 4 : 0));
  }

  void emit_window(const PlaneWindow& window) {
    const InputRange rows = inputs_of(rows_, window.row, window.rows);
    const InputRange columns = inputs_of(columns_, window.column, window.columns);
    const PlaneWindow needed{rows.first, rows.count, columns.first, columns.count};
    const auto row_runs = tap_runs(rows_, window.row, window.rows);
    const auto column_runs = tap_runs(columns_, window.column, window.columns);
    planes_.for_each(builder_, [&](const PlanePiece& piece) {
      View values = piece.cut(source_.turn(piece.turn), needed.rows, needed.columns);
      load(builder_, values, piece.view(tensors_[0], 0, needed));
      if (by_rows_) {
        const View sums = piece.cut(between_.turn(piece.turn), window.rows, needed.columns);
        emit_axis(values, sums, row_runs, 2, needed.row, window.row);
        values = sums;
      }
      View sums = piece.cut(sums_.turn(piece.turn), window.rows, window.columns);
      emit_axis(values, sums, column_runs, 3, needed.column, window.column);
      if (result_.present()) {
        const View rounded = piece.cut(result_.turn(piece.turn), window.rows, window.columns);
        builder_.emit(TensorCopy{.dst = rounded, .src = sums, .engine = EngineKind::kScalar});
        sums = rounded;
      }
      store(builder_, piece.view(tensors_[1], 1, window), sums);
    });
  }

  /// One axis of `source`, whose first element there is input `first_input`, into `target`, whose
  /// first element is output `first_output`.
  void emit_axis(const View& source, const View& target, const std::vector<TapRun>& runs, int axis,
                 int64_t first_input, int64_t first_output) {
    for (const TapRun& run : runs) {
      const View sums = target.slice(axis, run.first - first_output, run.count, run.step);
      if (run.taps.empty()) builder_.emit(Memset{.dst = sums});
      for (size_t t = 0; t < run.taps.size(); ++t) {
        const int64_t input = run.taps[t].input - first_input;
        const View values = run.input_step == 0
                                ? source.slice(axis, input, 1).broadcast(axis, run.count)
                                : source.slice(axis, input, run.count, run.input_step);
        emit_tap(sums, values, run.taps[t].weight, t == 0);
      }
    }
  }

  void emit_tap(const View& sums, const View& values, double weight, bool first) {
    if (first && weight == 1) {
      builder_.emit(TensorCopy{.dst = sums, .src = values});
    } else if (first) {
      builder_.emit(TensorScalar{.dst = sums,
                                 .data = values,
                                 .op0 = AluOp::kMultiply,
                                 .constant0 = weight,
                                 .engine = EngineKind::kVector});
    } else {
      builder_.emit(ScalarTensorTensor{.dst = sums,
                                       .data = values,
                                       .operand1 = sums,
                                       .op0 = AluOp::kMultiply,
                                       .constant0 = weight});
    }
  }

  Builder& builder_;
  const std::array<HbmTensor, 2> tensors_;
  const AxisTaps &rows_, &columns_;
  const bool by_rows_;
  const PlaneBands bands_;
  const PlaneTiles planes_;
  View source_, between_, sums_, result_;
};

}  // namespace

void emit_resample(Builder& builder, HbmTensors operands, HbmTensors results,
                   const ResampleOptions& options) {
  const auto& [rows, columns] = options;
  const HbmTensor& output = results[0];
  require(static_cast<int64_t>(rows.size()) == output.shape[2] &&
              static_cast<int64_t>(columns.size()) == output.shape[3],
          "a resampled plane has taps for each row and column");
  builder.scope(
      [&] { Resample(builder, operands[0], output, options.rows, options.columns).emit(); });
}

}  // namespace neuron_sim
