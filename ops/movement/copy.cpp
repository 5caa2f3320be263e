#include "ops/movement/copy.h"

#include "device/isa/dma_copy.h"
#include "ops/pointwise/layout.h"
#include "ops/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kPieceBytes = 16384;  // per row of a piece

}  // namespace

void emit_copy(Builder& builder, const HbmTensor& source, const HbmTensor& result) {
  const std::vector<HbmTensor> tensors{source, result};
  const PointwiseLayout layout(builder.limits(), tensors, kPieceBytes / itemsize(source.dtype()));
  layout.for_each(
      builder, [](const PointwisePiece&) {},
      [&](const PointwisePiece& piece) {
        load(builder, piece.view(result, 1), piece.view(source, 0));
      });
}

}  // namespace neuron_sim
