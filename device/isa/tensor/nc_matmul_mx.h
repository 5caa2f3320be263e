#pragma once
// nc_matmul_mx: one multiplication of MX operands, which carry their scales, on the PE array.

#include <optional>

#include "device/instruction/fields.h"
#include "device/isa/tensor/matmul_operands.h"

namespace neuron_sim {

/// dst[M, N] (+)= (stationary * stationary_scale)[4 K, M].T @ (moving * moving_scale)[4 K, N].
///
/// stationary [K, M] and moving [K, N]: SBUF, float8_e5m2_x4, float8_e4m3fn_x4 or float4_e2m1fn_x4,
/// in any combination; each element holds four values along the contraction. K: a multiple of 32 up
/// to limits.partitions; M: even, up to limits.stationary_free; N: up to limits.moving_free_mx,
/// twice that for a bf16 dst. The scales: SBUF, float8_e8m0fnu or uint8 (the same bits, 255 is
/// NaN), a power of two 2^(bits - 127) per group of 8 partitions x 4 values, in 4 rows at the start
/// of every 32 partitions (device/isa/tensor/microscaling.h). dst: PSUM, fp32 or bf16, as in
/// nc_matmul. Only where features.microscaling (NeuronCore-v4).
///
/// Value: values times scales in fp32 (exact except for an overflow to infinity), then one fp32
/// GEMM over the 4 K values, the four of a partition one after the other. `accumulate`,
/// `tile_position` and `tile_size` as in nc_matmul; only rows can be tiled.
///
/// Time: that of a 16-bit nc_matmul of K rows, M and N columns (trainium3_arch.rst, derived).
struct NcMatmulMx {
  View dst, stationary, moving, stationary_scale, moving_scale;
  std::optional<RowsColumns> tile_position{};
  std::optional<RowsColumns> tile_size{};
  std::optional<bool> accumulate = false;

  enum OperandIndex { kDst, kStationary, kMoving, kStationaryScale, kMovingScale };
  enum AttributeIndex { kAccumulate, kPlacement };
  static constexpr auto fields() {
    using T = NcMatmulMx;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst, kAccumulate),
        operand<kStationary>("stationary", Direction::kRead, &T::stationary),
        operand<kMoving>("moving", Direction::kRead, &T::moving),
        operand<kStationaryScale>("stationary_scale", Direction::kRead, &T::stationary_scale),
        operand<kMovingScale>("moving_scale", Direction::kRead, &T::moving_scale),
        parameter("tile_position", &T::tile_position),
        parameter("tile_size", &T::tile_size),
        parameter("accumulate", &T::accumulate),
        hidden_attribute<kAccumulate>("accumulate", AttributeKind::kAccumulate),
        HiddenAttributes{kPlacement, kArrayTileFields}};
  }
  Draft draft() const;
};

extern const InstructionType kNcMatmulMx;

}  // namespace neuron_sim
