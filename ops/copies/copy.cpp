#include "ops/copies/copy.h"

#include <functional>
#include <optional>

#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/tiles.h"
#include "ops/copies/transpose.h"
#include "ops/pointwise/layout.h"
#include "ops/pointwise/tile_loader.h"

namespace neuron_sim {
namespace {

constexpr int64_t kPieceBytes = 16384;  // per row of a piece
constexpr int64_t kRepeatedBytes = 4096;

/// Whether neighbours in the result are one element of the source.
bool repeats_elements(const HbmTensor& source, const HbmTensor& result) {
  const SharedDimension last = collapse(source.shape, {source.strides, result.strides}).back();
  return last.size > 1 && last.strides == std::vector<int64_t>{0, 1};
}

/// Such elements cross HBM once, and a view of SBUF repeats them.
void emit_repeated(Builder& builder, const HbmTensor& source, const HbmTensor& result) {
  builder.scope([&] {
    const std::vector<HbmTensor> tensors{source, result};
    const PointwiseLayout layout(builder.limits(), tensors,
                                 kRepeatedBytes / itemsize(source.dtype()));
    const auto ring = [&](const char* name) {
      return builder.sbuf(name, {layout.partitions(), layout.tile_elements()}, source.dtype(),
                          kDoubleBuffer);
    };
    const View loaded = ring("elements"), copied = ring("repeated");
    layout.for_each(
        builder, [](const PointwisePiece&) {},
        [&](const PointwisePiece& piece) {
          const View target = piece.view(result, 1);
          const View tile = copied.turn(piece.turn)
                                .slice(0, 0, target.partitions())
                                .slice(1, 0, target.free_elements());
          const View elements = load_repeating(builder, loaded, piece.view(source, 0), piece.turn);
          builder.emit(TensorCopy{.dst = tile, .src = elements, .engine = EngineKind::kVector});
          store(builder, target, tile);
        });
  });
}

/// The matrices of a copy that exchanges rows and columns: dimensions of the merged copy.
struct TransposedCopy {
  std::vector<SharedDimension> dimensions;  ///< strides of the source, then of the result
  size_t source_columns, result_columns;    ///< the dimensions of stride 1

  static std::optional<TransposedCopy> of(const HbmTensor& source, const HbmTensor& result) {
    TransposedCopy copy{collapse(source.shape, {source.strides, result.strides}), 0, 0};
    const size_t none = copy.dimensions.size();
    copy.source_columns = copy.result_columns = none;
    for (size_t d = 0; d < none; ++d) {
      if (copy.dimensions[d].strides[0] == 1) copy.source_columns = d;
      if (copy.dimensions[d].strides[1] == 1) copy.result_columns = d;
    }
    if (copy.source_columns == none || copy.result_columns == none ||
        copy.source_columns == copy.result_columns) {
      return std::nullopt;
    }
    const int64_t elements =
        copy.dimensions[copy.source_columns].size * copy.dimensions[copy.result_columns].size;
    return elements < kTransposedElements ? std::nullopt : std::optional(std::move(copy));
  }

  void emit(Builder& builder, const HbmTensor& source, const HbmTensor& result) const {
    const SharedDimension& columns = dimensions[source_columns];
    const SharedDimension& rows = dimensions[result_columns];
    const std::function<void(size_t, const Starts&)> descend = [&](size_t dimension,
                                                                   const Starts& starts) {
      if (dimension == dimensions.size()) {
        const View x = source.view({rows.size, columns.size}, {rows.strides[0], columns.strides[0]},
                                   starts[0]);
        const View out = result.view({columns.size, rows.size},
                                     {columns.strides[1], rows.strides[1]}, starts[1]);
        return emit_transpose(builder, x, out);
      }
      if (dimension == source_columns || dimension == result_columns) {
        return descend(dimension + 1, starts);
      }
      builder.loop(dimensions[dimension].size, [&](const Affine& index) {
        descend(dimension + 1, moved(starts, dimensions[dimension], index));
      });
    };
    descend(0, {0, 0});
  }
};

}  // namespace

void emit_copy(Builder& builder, HbmTensors operands, HbmTensors results) {
  const HbmTensor &source = operands[0], &result = results[0];
  if (repeats_elements(source, result)) return emit_repeated(builder, source, result);
  if (const auto transposed = TransposedCopy::of(source, result)) {
    return transposed->emit(builder, source, result);
  }
  const std::vector<HbmTensor> tensors{source, result};
  const PointwiseLayout layout(builder.limits(), tensors, kPieceBytes / itemsize(source.dtype()));
  layout.for_each(
      builder, [](const PointwisePiece&) {},
      [&](const PointwisePiece& piece) {
        load(builder, piece.view(result, 1), piece.view(source, 0));
      });
}

}  // namespace neuron_sim
