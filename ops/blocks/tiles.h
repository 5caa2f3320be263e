#pragma once
// Shared by the kernels: queues, loads, stores and loops over tiles.

#include <algorithm>
#include <functional>

#include "device/builder/builder.h"

namespace neuron_sim {

/// Tiles in a ring: one is loaded while another is computed on; with a third, a result may still be
/// on its way to HBM.
inline constexpr int kDoubleBuffer = 2;
inline constexpr int kTripleBuffer = 3;

/// Queues of loads and stores. A queue is triggered by an engine in program order, so loads and
/// stores that wait for different things belong to different engines: Sync has nothing else to do
/// and runs ahead of the compute engines as far as the rings of tiles allow.
inline constexpr EngineKind kLoadQueue = EngineKind::kSync;
inline constexpr EngineKind kStoreQueue = EngineKind::kGpSimd;

/// HBM to SBUF. Hardware descriptors where the architecture and the engine have them, software
/// descriptors on GpSimd of such an architecture, static descriptors elsewhere (on generation 2 a
/// descriptor ring prepared by the compiler is cheaper than GpSimd's time).
void load(Builder& builder, const View& tile, const View& hbm, EngineKind queue = kLoadQueue);
/// SBUF to HBM.
void store(Builder& builder, const View& hbm, const View& tile, EngineKind queue = kStoreQueue);

/// start and size of a tile in elements of the dimension, and its index (for ring buffers).
using TileBody = std::function<void(const Affine& start, int64_t size, const Affine& index)>;
/// A counted loop over the full tiles of a dimension of `extent` elements, then the remainder.
void for_tiles(Builder& builder, int64_t extent, int64_t tile, const TileBody& body);

/// for_tiles with one tile of lookahead: `prepare` of a tile is emitted before `body` of the
/// previous one, so that an in-order engine prepares the next tile instead of waiting for it. Both
/// see each tile once. Tiles that carry data from one to the other come from rings of two or more.
void for_tiles_ahead(Builder& builder, int64_t extent, int64_t tile, const TileBody& prepare,
                     const TileBody& body);

/// Columns of an fp32 product in one PSUM bank, at most as many as one nc_matmul takes (512). Wider
/// products (trn3) would only hold more banks at a time.
inline int64_t product_columns(const Limits& limits) {
  return std::min(limits.moving_free, limits.psum_bank.count / itemsize(Dtype::kFloat32));
}

/// ceil(value / divisor).
constexpr int64_t ceiling(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}
/// The size of the fewest equal pieces of `total` that are at most `limit` long.
constexpr int64_t balanced(int64_t total, int64_t limit) {
  return ceiling(total, ceiling(total, limit));
}

}  // namespace neuron_sim
