#include "ops/rows/spread_rows.h"

#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/iota.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {

void SpreadRows::for_transfers(
    const HbmTensor& matrix, const View& tile,
    const std::function<void(const View& hbm, const View& tile)>& body) const {
  const int64_t row = matrix.strides[0], step = matrix.strides[1], length = matrix.shape[1];
  const auto [ignored, lanes, width, stacked] = spread;
  const Affine start = first * row;
  if (lanes == 1) {
    body(matrix.view({count / stacked, stacked, length}, {stacked * row, row, step}, start),
         tile.split(1, stacked, width).slice(2, 0, length));
    return;
  }
  if (length == spread.padded()) {
    body(matrix.view({count, lanes, width}, {row, width * step, step}, start), tile);
    return;
  }
  const int64_t full = length / width, rest = length % width;
  for (int64_t r = 0; r < count; ++r) {
    const Affine begin = start + r * row;
    if (full > 0) {
      body(matrix.view({full, width}, {width * step, step}, begin), tile.slice(0, r * lanes, full));
    }
    if (rest > 0) {
      body(matrix.view({1, rest}, {row, step}, begin + full * width * step),
           tile.slice(0, r * lanes + full, 1).slice(1, 0, rest));
    }
  }
}

void SpreadRows::places(Builder& builder, const View& tile) const {
  builder.emit(Iota{.dst = tile, .pattern = {{0, spread.stacked}, {1, spread.width}}});
  if (spread.lanes == 1) return;
  builder.scope([&] {
    const View first = builder.sbuf("first_places", {partitions(), 1}, Dtype::kFloat32);
    first_places(builder, first);
    builder.emit(TensorScalar{.dst = tile, .data = tile, .operand0 = first, .op0 = AluOp::kAdd});
  });
}

void SpreadRows::first_places(Builder& builder, const View& tile) const {
  builder.scope([&] {
    const View lane = builder.sbuf("lanes", {partitions(), 1}, Dtype::kInt32);
    builder.emit(Iota{.dst = lane, .pattern = {{1, 1}}, .channel_multiplier = 1});
    builder.emit(TensorScalar{.dst = lane,
                              .data = lane,
                              .op0 = AluOp::kBitwiseAnd,
                              .constant0 = static_cast<double>(spread.lanes - 1)});
    builder.emit(TensorScalar{.dst = tile,
                              .data = lane,
                              .op0 = AluOp::kMultiply,
                              .constant0 = static_cast<double>(spread.width)});
  });
}

void for_spread_rows(Builder& builder, int64_t rows, const RowSpread& spread,
                     const std::function<void(const SpreadRows&)>& body) {
  const int64_t stacked = spread.stacked;
  for_tiles(builder, rows / stacked, builder.limits().partitions / spread.lanes,
            [&](const Affine& first, int64_t count, const Affine&) {
              builder.scope([&] { body({spread, first * stacked, count * stacked}); });
            });
  const int64_t rest = rows % stacked;
  if (rest == 0) return;
  RowSpread last = spread;
  last.stacked = rest;
  builder.scope([&] { body({last, rows - rest, rest}); });
}

}  // namespace neuron_sim
