#pragma once
// Operands of the PE array as fp32 rows, in place where their storage allows it.

#include <cstdint>
#include <vector>

#include "device/instruction/instruction_type.h"
#include "device/instruction/pattern.h"

namespace neuron_sim {

/// Elements in HBM that follow each other along the contraction: element j of contraction row k is
/// the one after k others at data + j * pitch (bytes).
struct TurnedRows {
  const std::byte* data = nullptr;
  int64_t pitch = 0;
  Dtype dtype = Dtype::kFloat32;
};

/// Element j of run r of contraction row k is data[k * pitch + pattern.offset(r) + j]; the stride
/// inside a run is 1. Offsets and pitch are floats.
struct FloatOperand {
  const float* data = nullptr;  ///< null: `turned` instead
  int64_t pitch = 0;
  Pattern pattern;
  bool bf16 = false;  ///< every value is one of bf16
  TurnedRows turned{};
};

/// How an operand may be divided.
enum class RunRule : uint8_t {
  kKeep,  ///< the contiguous runs of the access pattern stay separate (moving)
  kOne    ///< one run, packed if need be (stationary)
};

/// True for bf16 and for fp8, whose values are all values of bf16.
bool fits_bfloat16(Dtype dtype);

/// fp32 and tf32 are read as stored; a low-precision operand through Access::widened when the
/// executor keeps that, else widened into `buffer`. A strided innermost dimension is packed into
/// one run, unless it can be `turned`, which a moving operand can. The runs do not depend on
/// whether data had to be copied, so neither do results.
FloatOperand float_operand(const Access& access, RunRule rule, std::vector<float>& buffer);

}  // namespace neuron_sim
