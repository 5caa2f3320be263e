// Vectors of fp32 in NEON, which every arm64 host has. For the files of one instruction set.

#include <arm_neon.h>

#include <cstdint>

#define NEURON_SIM_TARGET

namespace neuron_sim {
namespace {

constexpr int64_t kLanes = 4;

using Floats = float32x4_t;
using Mask = uint32x4_t;

/// a * b + c with one rounding.
inline Floats fused(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }

/// The lanes in which either is NaN.
inline Mask unordered(Floats a, Floats b) { return ~(vceqq_f32(a, a) & vceqq_f32(b, b)); }

inline bool any(Mask mask) { return vmaxvq_u32(mask) != 0; }

}  // namespace
}  // namespace neuron_sim
