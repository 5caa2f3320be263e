#include "ops/pooling/max_pool.h"

#include <algorithm>
#include <vector>

#include "device/isa/elementwise/scalar_tensor_tensor.h"
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

class MaxPool {
 public:
  MaxPool(Builder& builder, const HbmTensor& input, HbmTensors results,
          const PoolingWindows& windows)
      : builder_(builder),
        windows_(windows),
        tensors_(joined(input, results)),
        bands_(plan_bands(builder.architecture(), "max_pool", results[0].shape[2],
                          results[0].shape[3], results[0].shape[0] * results[0].shape[1],
                          [&](int64_t r, int64_t c) { return bytes(r, c); })),
        planes_(builder.limits(), tensors_, bands_.group) {
    const int64_t inputs =
        most_inputs(windows.rows, bands_.rows) * most_inputs(windows.columns, bands_.columns);
    const int64_t outputs = bands_.rows * bands_.columns;
    const auto ring = [&](const char* label, int64_t elements, Dtype dtype) {
      return builder.sbuf(label, {planes_.partitions(), planes_.group() * elements}, dtype,
                          kDoubleBuffer);
    };
    source_ = ring("input_planes", inputs, input.dtype());
    maximum_ = ring("maximum", outputs, input.dtype());
    if (!has_indices()) return;
    not_a_number_ = ring("not_a_number", inputs, Dtype::kFloat16);
    beats_ = ring("beats", outputs, Dtype::kFloat16);
    offset_ = ring("offset", outputs, Dtype::kFloat32);
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
  static std::vector<HbmTensor> joined(const HbmTensor& input, HbmTensors results) {
    std::vector<HbmTensor> tensors{input};
    tensors.insert(tensors.end(), results.begin(), results.end());
    return tensors;
  }
  bool has_indices() const { return tensors_.size() == 3; }

  int64_t bytes(int64_t rows, int64_t columns) const {
    const int64_t inputs =
        most_inputs(windows_.rows, rows) * most_inputs(windows_.columns, columns);
    const int64_t element = itemsize(tensors_[0].dtype());
    if (!has_indices()) return kDoubleBuffer * (inputs + rows * columns) * element;
    return kDoubleBuffer * (inputs * (element + 2) + rows * columns * (element + 2 + 4 + 8)) +
           rows * columns * 4;
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
    const View source = piece.cut(source_.turn(piece.turn), inputs.rows, inputs.columns);
    load(builder_, source, piece.view(tensors_[0], 0, inputs));
    const auto of_outputs = [&](const View& ring) {
      return piece.cut(ring.turn(piece.turn), outputs.rows, outputs.columns);
    };
    Tiles tiles{source, {}, of_outputs(maximum_), {}, {}};
    if (has_indices()) {
      tiles.nan = piece.cut(not_a_number_.turn(piece.turn), inputs.rows, inputs.columns);
      tiles.beats = of_outputs(beats_);
      tiles.offset = of_outputs(offset_);
      builder_.emit(TensorTensor{.dst = tiles.nan,
                                 .data1 = source,
                                 .data2 = source,
                                 .op = AluOp::kNotEqual,
                                 .engine = EngineKind::kGpSimd});
    }
    for_regions(windows_, outputs, inputs,
                [&](const PoolRegion& region) { emit_region(region, tiles, inputs, outputs); });
    store(builder_, piece.view(tensors_[1], 1, outputs), tiles.maximum);
    if (has_indices()) store_indices(piece, tiles.offset, outputs);
  }

  struct Tiles {
    View source, nan, maximum, beats, offset;
  };

  /// A later element wins if it is larger than the maximum so far, which an earlier NaN prevents
  /// for good, or if it is NaN. Offsets ascend, so the last winner's is the largest.
  void emit_region(const PoolRegion& region, const Tiles& tiles, const PlaneWindow& inputs,
                   const PlaneWindow& outputs) {
    const auto target = [&](const View& tile) {
      return region.of_outputs(tile, outputs.row, outputs.column);
    };
    const bool indexed = has_indices();
    const View maximum = target(tiles.maximum), beats = indexed ? target(tiles.beats) : View();
    const View offset = indexed ? target(tiles.offset) : View();
    const auto combine = [&](const View& dst, const View& left, const View& right, AluOp op) {
      builder_.emit(TensorTensor{
          .dst = dst, .data1 = left, .data2 = right, .op = op, .engine = EngineKind::kVector});
    };
    bool first = true;
    region.for_taps([&](int64_t y, int64_t x) {
      const View value = region.of_inputs(tiles.source, inputs.row, inputs.column, y, x);
      if (first) {
        builder_.emit(TensorCopy{.dst = maximum, .src = value});
        if (indexed) builder_.emit(Memset{.dst = offset, .value = region.offset(y, x)});
        first = false;
        return;
      }
      if (indexed) combine(beats, value, maximum, AluOp::kGreater);
      combine(maximum, maximum, value, AluOp::kMaximum);
      if (!indexed) return;
      combine(beats, beats, region.of_inputs(tiles.nan, inputs.row, inputs.column, y, x),
              AluOp::kMaximum);
      builder_.emit(ScalarTensorTensor{.dst = offset,
                                       .data = beats,
                                       .operand1 = offset,
                                       .op0 = AluOp::kMultiply,
                                       .constant0 = region.offset(y, x),
                                       .op1 = AluOp::kMaximum});
    });
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
  const PlaneBands bands_;
  const PlaneTiles planes_;
  View source_, not_a_number_, maximum_, beats_, offset_, words_, starts_;
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
