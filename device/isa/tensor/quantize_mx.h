#pragma once
// quantize_mx: values to MXFP8 data and scales, as nc_matmul_mx reads them.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = src / X and dst_scale = X, one power of two X per group of 8 partitions x 4 elements.
///
/// src: SBUF, fp16 or bf16, [P, 4 N], P a multiple of 32 up to limits.partitions. dst: SBUF,
/// float8_e5m2_x4 or float8_e4m3fn_x4, [P, N]. dst_scale: SBUF, float8_e8m0fnu or uint8 (the same
/// bits), N columns, 4 rows at the start of every 32 partitions (device/isa/tensor/microscaling.h);
/// its other rows are unchanged. Only where features.microscaling (NeuronCore-v4), on Vector.
///
/// X = 2^(floor(log2(largest magnitude)) - (E - 1)), E = 8 for e4m3fn and 15 for e5m2, at least
/// 2^-127, which is also that of a group of zeros; half of the range stays free, so that nothing
/// overflows. Each value is divided exactly and rounded once, to nearest even. A group with a NaN
/// or an infinity gets the scale NaN and is rounded undivided (the document does not say; assumed).
///
/// Time: four elements per partition and cycle (trainium3_arch.rst, documented).
struct QuantizeMx {
  View dst, src, dst_scale;

  enum OperandIndex { kDst, kSrc, kDstScale };
  static constexpr auto fields() {
    using T = QuantizeMx;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      operand<kDstScale>("dst_scale", Direction::kWrite, &T::dst_scale)};
  }
  Draft draft() const;
};

extern const InstructionType kQuantizeMx;

}  // namespace neuron_sim
