#include "ops/blocks/tiles.h"

#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

void transfer(Builder& builder, const View& dst, const View& src, EngineKind queue) {
  DmaCopy copy{.dst = dst, .src = src, .engine = queue};
  if (!builder.architecture().features.hardware_descriptors && dst.dtype() == src.dtype()) {
    copy.descriptors = DescriptorKind::kStatic;
  }
  builder.emit(copy);
}

}  // namespace

void load(Builder& builder, const View& tile, const View& hbm, EngineKind queue) {
  transfer(builder, tile, hbm, queue);
}

void store(Builder& builder, const View& hbm, const View& tile, EngineKind queue) {
  transfer(builder, hbm, tile, queue);
}

void for_tiles(Builder& builder, int64_t extent, int64_t tile, const TileBody& body) {
  const int64_t full = extent / tile, rest = extent % tile;
  builder.loop(full, [&](const Affine& index) { body(index * tile, tile, index); });
  if (rest > 0) builder.scope([&] { body(full * tile, rest, full); });
}

void for_tiles_ahead(Builder& builder, int64_t extent, int64_t tile, const TileBody& prepare,
                     const TileBody& body) {
  const int64_t full = extent / tile, rest = extent % tile;
  if (full > 0) {
    prepare(0, tile, 0);
    builder.loop(full - 1, [&](const Affine& index) {
      prepare((index + 1) * tile, tile, index + 1);
      body(index * tile, tile, index);
    });
  }
  if (rest > 0) prepare(full * tile, rest, full);
  if (full > 0) body((full - 1) * tile, tile, full - 1);
  if (rest > 0) body(full * tile, rest, full);
}

}  // namespace neuron_sim
