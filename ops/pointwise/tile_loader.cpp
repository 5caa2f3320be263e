#include "ops/pointwise/tile_loader.h"

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
View reshaped(View tile, const std::vector<int64_t>& sizes) {
  for (size_t d = 1; d + 1 < sizes.size(); ++d) {
    const int dimension = static_cast<int>(d);
    tile = tile.split(dimension, sizes[d], tile.size(dimension) / sizes[d]);
  }
  return tile;
}

View load_repeating(Builder& builder, const View& ring, const View& hbm, const Affine& turn,
                    RowSpreader* spreader) {
  View once = hbm;
  for (int d = 1; d < hbm.rank(); ++d) {
    if (hbm.dimension(d).stride == 0) once = once.slice(d, 0, 1);
  }
  View tile = ring.turn(turn).slice(0, 0, hbm.partitions()).slice(1, 0, once.free_elements());
  if (spreader != nullptr && hbm.partitions() > 1 && hbm.dimension(0).stride == 0) {
    spreader->load(once.slice(0, 0, 1), turn);
    spreader->spread(tile);
  } else {
    load(builder, tile, once);
  }
  tile = reshaped(tile, once.shape());
  for (int d = 1; d < hbm.rank(); ++d) {
    if (tile.size(d) != hbm.size(d)) tile = tile.broadcast(d, hbm.size(d));
  }
  return tile;
}

TileLoader::TileLoader(Builder& builder, const Expression& expression,
                       std::span<const HbmTensor> operands, int64_t partitions, int64_t elements,
                       int ring)
    : builder_(builder), operands_(operands.begin(), operands.end()) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    rings_.push_back(
        builder.sbuf(text("operand_tile", i), {partitions, elements}, operands_[i].dtype(), ring));
  }
  if (expression.is_operand()) return;
  values_ = builder.sbuf("value_tile", {partitions, elements}, Dtype::kFloat32, ring);
  emitter_.emplace(builder, expression, partitions, elements);
}

int64_t TileLoader::bytes_per_element(const Builder& builder, const Expression& expression,
                                      std::span<const HbmTensor> operands, int ring) {
  int64_t bytes = 0;
  for (const HbmTensor& operand : operands) bytes += int64_t{ring} * itemsize(operand.dtype());
  if (expression.is_operand()) return bytes;
  const ExpressionPlan plan(expression, builder.architecture().features);
  return bytes + int64_t{ring} * 4 + ExpressionEmitter::bytes_per_element(plan);
}

View TileLoader::load_operand(size_t index, const TilePiece& piece, const Affine& turn) {
  const View hbm = operands_[index].view(piece.sizes, piece.steps[index], piece.starts[index]);
  return load_repeating(builder_, rings_[index], hbm, turn);
}

View TileLoader::load(const TilePiece& piece, const Affine& turn) {
  std::vector<View> inputs;
  for (size_t i = 0; i < operands_.size(); ++i) inputs.push_back(load_operand(i, piece, turn));
  if (!emitter_) return inputs.front();
  int64_t elements = 1;
  for (size_t d = 1; d < piece.sizes.size(); ++d) elements *= piece.sizes[d];
  const View value = values_.turn(turn).slice(0, 0, piece.sizes[0]).slice(1, 0, elements);
  emitter_->emit(inputs, {value}, turn);
  return reshaped(value, piece.sizes);
}

}  // namespace neuron_sim
