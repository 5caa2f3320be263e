#pragma once
// nc_transpose: exchanges the partition dimension and the free dimension of a tile.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[F, P] = data[P, F]; several free dimensions count as one, in row-major order, on both sides.
///
/// Tensor engine: data in SBUF, dst in PSUM, P <= limits.partitions, F <= limits.stationary_free.
/// With features.exact_transpose any dtype, bit by bit, dst of the dtype of data; 1-byte elements
/// become 16-bit ones whose upper byte is zero, so that dst has a 2-byte dtype, or that of data in
/// every other byte (the bytes between are unchanged). Without it (generation 2), and for 16-bit
/// floats into a float32 dst (the older language's "nc_transpose" assigned to a float32 tile in
/// PSUM), a real product with an identity: data must be floating, dst is float32, and a NaN or
/// infinity in column f of data makes the whole row f of dst NaN (0 * inf), except that an infinity
/// alone in its column keeps its own place; -0 becomes +0.
/// Vector engine: SBUF or PSUM on both sides, P and F <= limits.vector_transpose, bit by bit.
///
/// EngineKind::kAuto: Vector when the tile fits and the Tensor engine could not do it (data in PSUM
/// or dst in SBUF), else Tensor.
struct NcTranspose {
  View dst, data;
  EngineKind engine = EngineKind::kAuto;

  enum OperandIndex { kDst, kData };
  static constexpr auto fields() {
    using T = NcTranspose;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kData>("data", Direction::kRead, &T::data)
                          .undefined_elements(UndefinedUse::kTransposed),
                      engine_of(&T::engine)};
  }
  Draft draft() const;
};

extern const InstructionType kNcTranspose;

}  // namespace neuron_sim
