#include <algorithm>
#include <array>

#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"
#include "ops/pooling/max_pool.h"
#include "ops/pooling/max_pool_regions.h"

namespace neuron_sim {
namespace {

/// Most outputs that any `count` inputs, starting at a multiple of `count`, take part in.
int64_t most_outputs(const AxisWindows& axis, int64_t count) {
  int64_t most = 1;
  for (int64_t first = 0; first < axis.extent; first += count) {
    most = std::max(most, window_outputs(axis, first, std::min(count, axis.extent - first)).count);
  }
  return most;
}

class MaxPoolBackward {
 public:
  MaxPoolBackward(Builder& builder, const HbmTensor& gradient, const HbmTensor& indices,
                  const HbmTensor& result, const PoolingWindows& windows)
      : builder_(builder),
        windows_(windows),
        tensors_{gradient, indices, result},
        bits_(itemsize(gradient.dtype()) == 4 ? Dtype::kInt32 : Dtype::kInt16),
        bands_(plan_bands(builder.architecture(), "max_pool_backward", windows.rows.extent,
                          windows.columns.extent, result.shape[0] * result.shape[1],
                          [&](int64_t r, int64_t c) { return bytes(r, c); })),
        planes_(builder.limits(), tensors_, bands_.group) {
    const int64_t outputs =
        most_outputs(windows.rows, bands_.rows) * most_outputs(windows.columns, bands_.columns);
    const int64_t inputs = bands_.rows * bands_.columns;
    const auto ring = [&](const char* label, int64_t elements, Dtype dtype) {
      return builder.sbuf(label, {planes_.partitions(), planes_.group() * elements}, dtype,
                          kDoubleBuffer);
    };
    gradient_ = ring("gradient_planes", outputs, gradient.dtype());
    words_ = ring("index_words", 2 * outputs, Dtype::kInt32);
    offset_ = ring("offset", outputs, Dtype::kFloat32);
    mask_ = ring("mask", outputs, bits_);
    selected_ = ring("selected", outputs, gradient.dtype());
    sums_ = ring("sums", inputs, Dtype::kFloat32);
    if (gradient.dtype() != Dtype::kFloat32) result_ = ring("result", inputs, gradient.dtype());
    starts_ = builder.sbuf("window_starts", {planes_.partitions(), outputs}, Dtype::kFloat32);
  }

  void emit() {
    const int64_t height = windows_.rows.extent, width = windows_.columns.extent;
    for (int64_t row = 0; row < height; row += bands_.rows) {
      for (int64_t column = 0; column < width; column += bands_.columns) {
        emit_window({row, std::min(bands_.rows, height - row), column,
                     std::min(bands_.columns, width - column)});
      }
    }
  }

 private:
  int64_t bytes(int64_t rows, int64_t columns) const {
    const int64_t outputs =
        most_outputs(windows_.rows, rows) * most_outputs(windows_.columns, columns);
    const int64_t element = itemsize(tensors_[0].dtype());
    return kDoubleBuffer * (outputs * (3 * element + 8 + 4) + rows * columns * (4 + element)) +
           outputs * 4;
  }

  void emit_window(const PlaneWindow& inputs) {
    const AxisRange rows = window_outputs(windows_.rows, inputs.row, inputs.rows);
    const AxisRange columns = window_outputs(windows_.columns, inputs.column, inputs.columns);
    const PlaneWindow outputs{rows.first, rows.count, columns.first, columns.count};
    const bool any = rows.count > 0 && columns.count > 0;
    if (any) emit_window_starts(builder_, windows_, outputs, starts_);
    planes_.for_each(builder_, [&](const PlanePiece& piece) {
      View sums = piece.cut(sums_.turn(piece.turn), inputs.rows, inputs.columns);
      builder_.emit(Memset{.dst = sums, .engine = EngineKind::kGpSimd});
      if (any) distribute(piece, inputs, outputs, sums);
      if (result_.present()) {
        const View rounded = piece.cut(result_.turn(piece.turn), inputs.rows, inputs.columns);
        builder_.emit(TensorCopy{.dst = rounded, .src = sums, .engine = EngineKind::kScalar});
        sums = rounded;
      }
      store(builder_, piece.view(tensors_[2], 2, inputs), sums);
    });
  }

  void distribute(const PlanePiece& piece, const PlaneWindow& inputs, const PlaneWindow& outputs,
                  const View& sums) {
    const auto of_outputs = [&](const View& ring) {
      return piece.cut(ring.turn(piece.turn), outputs.rows, outputs.columns);
    };
    const View gradient = of_outputs(gradient_), offset = of_outputs(offset_);
    const View mask = of_outputs(mask_), selected = of_outputs(selected_);
    load(builder_, gradient, piece.view(tensors_[0], 0, outputs));
    const View words = piece.cut(words_.turn(piece.turn), outputs.rows, 2 * outputs.columns)
                           .split(3, outputs.columns, 2);
    load(builder_, words, piece.view(tensors_[1], 1, outputs));
    const View starts = starts_.slice(0, 0, piece.partitions)
                            .slice(1, 0, outputs.rows * outputs.columns)
                            .split(1, outputs.rows, outputs.columns)
                            .expand(1)
                            .broadcast(1, piece.group);
    builder_.emit(TensorTensor{.dst = offset,
                               .data1 = words.select(4, 0),
                               .data2 = starts,
                               .op = AluOp::kSubtract,
                               .engine = EngineKind::kVector});
    for_regions(windows_, outputs, inputs, [&](const PoolRegion& region) {
      const auto part = [&](const View& tile) {
        return region.of_outputs(tile, outputs.row, outputs.column);
      };
      region.for_taps([&](int64_t y, int64_t x) {
        const View place = region.of_inputs(sums, inputs.row, inputs.column, y, x);
        select(part(mask), part(offset), region.offset(y, x), part(gradient), part(selected));
        builder_.emit(TensorTensor{
            .dst = place, .data1 = place, .data2 = part(selected), .engine = EngineKind::kVector});
      });
    });
  }

  /// selected = gradient, bit by bit, where the offset is `value`, else 0.
  void select(const View& mask, const View& offset, double value, const View& gradient,
              const View& selected) {
    builder_.emit(TensorScalar{.dst = mask,
                               .data = offset,
                               .op0 = AluOp::kEqual,
                               .constant0 = value,
                               .op1 = AluOp::kMultiply,
                               .constant1 = -1});
    builder_.emit(TensorTensor{.dst = selected.reinterpret(bits_),
                               .data1 = gradient.reinterpret(bits_),
                               .data2 = mask,
                               .op = AluOp::kBitwiseAnd});
  }

  Builder& builder_;
  const PoolingWindows& windows_;
  const std::array<HbmTensor, 3> tensors_;
  const Dtype bits_;
  const PlaneBands bands_;
  const PlaneTiles planes_;
  View gradient_, words_, offset_, mask_, selected_, sums_, result_, starts_;
};

}  // namespace

void emit_max_pool_backward(Builder& builder, HbmTensors operands, HbmTensors results,
                            const PoolingWindows& windows) {
  check_plane("max_pool_backward", windows);
  builder.scope(
      [&] { MaxPoolBackward(builder, operands[0], operands[1], results[0], windows).emit(); });
}

}  // namespace neuron_sim
