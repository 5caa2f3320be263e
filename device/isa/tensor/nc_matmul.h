#pragma once
// nc_matmul: one multiplication of a tile on the PE array.

#include <optional>

#include "device/instruction/fields.h"
#include "device/isa/tensor/matmul_operands.h"

namespace neuron_sim {

/// Fast modes of nc_matmul (nki.isa.matmul_perf_mode).
enum class MatmulPerformanceMode : uint8_t { kNone, kDoubleRow };

/// dst[M, N] (+)= stationary[K, M].T @ moving[K, N].
///
/// dst: PSUM, M partitions, N elements per partition in one bank (generation 4: in all banks);
/// fp32, or bf16 where features.bfloat16_psum. stationary, moving: SBUF, fp8, fp16, bf16, tf32 or
/// fp32; tf32 and fp32 only with each other; float8_e4m3fn where features.microscaling and not with
/// float8_e4m3. K <= limits.partitions, M <= limits.stationary_free, N <= limits.moving_free (twice
/// that for a bf16 dst); N may spread over several free dimensions (of moving and, differently, of
/// dst), which count in row-major order.
///
/// Value: fused fp32 multiply-adds over the K rows (device/isa/tensor/product_kernel.h).
/// `accumulate` true adds it to dst with one fp32 addition per element (a bf16 dst is widened
/// before and rounded to nearest even after it), false overwrites dst without reading it, empty
/// lets the Builder choose: the first write to a PSUM location overwrites, later ones add.
/// Accumulating onto another instruction's result is undefined on the chip before generation 4;
/// here it adds.
///
/// `perf_mode` kDoubleRow (features.double_row): both operands fp8, [K, 2, M] and [K, 2, N]; the
/// contraction runs over 2 K values, half 0 of all rows before half 1, in the time of K. Not with
/// tiled columns, not with is_transpose.
///
/// `tile_position` and `tile_size` (rows, columns), both or neither: the part of the array that
/// works; K and M are at most its size. Matmuls on disjoint rows or columns may overlap in time.
/// The current vendor API tiles rows only; columns are those of the older API.
///
/// `is_stationary_onezero`, `is_moving_onezero`: that operand holds ones and zeros only, which
/// halves the passes of an fp32 product. A promise, not checked; the value does not change.
///
/// `is_transpose` on an architecture with features.exact_transpose: moving holds exactly one 1 per
/// column (an identity or a permutation), and dst gets dst[m, n] = stationary[k(n), m] bit by bit,
/// NaN and infinities included. dst has the dtype of stationary; 1-byte elements become 16-bit ones
/// whose upper byte is zero, so that dst has a 2-byte dtype, or that of stationary in every other
/// byte (the bytes between are unchanged). A moving column that is not one-hot is a KernelError at
/// run time. Elsewhere the flag changes nothing but the name in the profiler (nki.isa.nc_matmul,
/// "Transpose mode"). It never accumulates.
struct NcMatmul {
  View dst, stationary, moving;
  std::optional<bool> accumulate = false;
  bool is_transpose = false;
  bool is_stationary_onezero = false;
  bool is_moving_onezero = false;
  std::optional<RowsColumns> tile_position{};
  std::optional<RowsColumns> tile_size{};
  MatmulPerformanceMode perf_mode = MatmulPerformanceMode::kNone;

  enum OperandIndex { kDst, kStationary, kMoving };
  enum AttributeIndex {
    kAccumulate,
    kIsTranspose,
    kStationaryOneZero,
    kMovingOneZero,
    kPerformanceMode,
    kPlacement
  };
  static constexpr auto fields() {
    using T = NcMatmul;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst, kAccumulate),
        operand<kStationary>("stationary", Direction::kRead, &T::stationary)
            .undefined_elements(UndefinedUse::kColumnToRow),
        operand<kMoving>("moving", Direction::kRead, &T::moving)
            .undefined_elements(UndefinedUse::kToColumn),
        parameter("accumulate", &T::accumulate),
        attribute<kIsTranspose>("is_transpose", &T::is_transpose),
        attribute<kStationaryOneZero>("is_stationary_onezero", &T::is_stationary_onezero),
        attribute<kMovingOneZero>("is_moving_onezero", &T::is_moving_onezero),
        parameter("tile_position", &T::tile_position),
        parameter("tile_size", &T::tile_size),
        attribute<kPerformanceMode>("perf_mode", &T::perf_mode),
        hidden_attribute<kAccumulate>("accumulate", AttributeKind::kAccumulate),
        HiddenAttributes{kPlacement, kArrayTileFields}};
  }
  Draft draft() const;
};

extern const InstructionType kNcMatmul;

}  // namespace neuron_sim
