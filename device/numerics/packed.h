#pragma once
// Values of the packed dtypes: four to an element.

#include <cstddef>
#include <cstdint>

#include "device/numerics/dtype.h"

namespace neuron_sim {

inline constexpr int kPackedValues = 4;

/// Widens `count` packed elements, `stride` bytes apart, exactly to 4 * count fp32 values.
void load_packed(const std::byte* source, Dtype dtype, int64_t stride, float* target,
                 int64_t count);

/// Rounds 4 * count fp32 values once, to nearest even, into packed elements. float8_e5m2: overflow
/// becomes infinity; float8_e4m3fn: NaN; float4_e2m1fn: 6 (it saturates), NaN becomes 0.
void store_packed(const float* source, std::byte* target, Dtype dtype, int64_t stride,
                  int64_t count);

}  // namespace neuron_sim
