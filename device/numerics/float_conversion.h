#pragma once
// Contiguous conversions between fp32 and the narrower floating types, as raw bit patterns.
// Internal to device/numerics; everybody else calls load_floats and store_floats.

#include <array>
#include <bit>
#include <cstdint>

namespace neuron_sim::float_conversion {

/// `condition ? yes : no` through a mask. With ?: the compiler moves floating-point arithmetic of
/// one side behind a branch (it might trap) and then does not vectorise the loop.
constexpr uint32_t select(bool condition, uint32_t yes, uint32_t no) {
  const uint32_t mask = 0u - static_cast<uint32_t>(condition);
  return no ^ ((yes ^ no) & mask);
}

/// A floating type with an IEEE layout: sign, exponent, mantissa; the all-ones exponent holds
/// infinity and NaN, or if `finite` numbers too, apart from the all-ones pattern, which is NaN.
/// E4m3, E4m3fn, E5m2 and half have fewer exponent bits than fp32.
template <int exponent_bits, int mantissa_bits, bool finite = false>
struct Format {
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int kShift = 23 - mantissa_bits;  ///< fp32 mantissa bits that are dropped
  static constexpr int kSignShift = 31 - exponent_bits - mantissa_bits;
  static constexpr uint32_t kInfinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  static constexpr uint32_t kQuiet = 1u << (mantissa_bits - 1);
  static constexpr uint32_t kMagnitude = (1u << (exponent_bits + mantissa_bits)) - 1;
  static constexpr uint32_t kOverflow = finite ? kMagnitude : kInfinity;  ///< least non-number
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  static constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - kBias) << 23;

  /// Exact. A signalling NaN becomes quiet and keeps its payload. Branch-free, and without
  /// arithmetic on subnormal fp32, so that flush-to-zero modes cannot change the result.
  static constexpr float widen(uint32_t bits) {
    const uint32_t magnitude = (bits & kMagnitude) << kShift;
    const uint32_t sign = (bits & (kMagnitude + 1)) << kSignShift;
    const uint32_t normal = magnitude + kRebias;
    // 1.mantissa - 1 at the scale of the smallest normal number normalises a subnormal one.
    const float subnormal =
        std::bit_cast<float>(magnitude + kSmallestNormal) - std::bit_cast<float>(kSmallestNormal);
    const uint32_t quiet = select(magnitude > (kInfinity << kShift), 0x00400000u, 0u);
    const uint32_t special = magnitude | 0x7f800000u | quiet;
    uint32_t result = select(magnitude < (1u << 23), std::bit_cast<uint32_t>(subnormal), normal);
    result = select(magnitude >= (kOverflow << kShift), special, result);
    return std::bit_cast<float>(result | sign);
  }

  /// Rounds once, to nearest even; overflow becomes infinity (NaN if there is none); NaN becomes
  /// quiet and keeps its sign and the high bits of its payload (what F16C does). Branch-free.
  static constexpr uint32_t narrow(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t sign = (bits >> kSignShift) & (kMagnitude + 1);
    const uint32_t odd = (magnitude >> kShift) & 1u;
    const uint32_t rounded = magnitude - kRebias + ((1u << (kShift - 1)) - 1) + odd;
    const uint32_t normal = rounded >> kShift;
    // Adding a number whose last place is the last place of a subnormal result rounds there.
    constexpr uint32_t kMagic = static_cast<uint32_t>(128 - kBias + kShift) << 23;
    const float aligned = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
    const uint32_t subnormal = std::bit_cast<uint32_t>(aligned) - kMagic;
    const uint32_t payload = (magnitude >> kShift) & (kQuiet - 1);
    const uint32_t nan = finite ? kMagnitude : kInfinity | kQuiet | payload;
    uint32_t result = select(normal < kOverflow, normal, kOverflow);
    result = select(magnitude < kSmallestNormal, subnormal, result);
    result = select(magnitude > 0x7f800000u, nan, result);
    return result | sign;
  }
};

using E4m3 = Format<4, 3>;
using E4m3fn = Format<4, 3, true>;
using E5m2 = Format<5, 2>;
using Half = Format<5, 10>;

/// bfloat16 is the high half of fp32; widening keeps every bit, of a signalling NaN too.
constexpr float widen_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest even; NaN becomes quiet and keeps sign and high payload bits.
constexpr uint16_t narrow_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/// tf32 in four bytes: drops the 13 low mantissa bits; a NaN stays a (quiet) NaN.
constexpr float truncate_tfloat32(uint32_t bits) {
  const uint32_t quiet = (bits & 0x7fffffffu) > 0x7f800000u ? 0x00400000u : 0u;
  return std::bit_cast<float>((bits | quiet) & 0xffffe000u);
}

/// Rounds to 10 mantissa bits, to nearest even; NaN becomes quiet.
constexpr uint32_t narrow_tfloat32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0xfffu + ((bits >> 13) & 1u);
  const uint32_t quiet = bits | 0x00400000u;
  return ((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) & 0xffffe000u;
}

/// float8_e8m0fnu holds 2^(bits - 127); 255 is NaN.
struct E8m0fnu {
  static constexpr float widen(uint32_t bits) {
    const uint32_t number = select(bits == 0, 0x00400000u, bits << 23);
    return std::bit_cast<float>(select(bits == 255, 0x7fc00000u, number));
  }
  /// To the nearest power of two, halfway to the larger one; below 2^-127 to 2^-127. Values without
  /// a neighbour become NaN: zero, negative numbers, 1.5 * 2^127 and more (as ml_dtypes does).
  static constexpr uint32_t narrow(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t subnormal = bits >= 0x00600000u ? 1 : 0;
    const uint32_t normal = (bits + 0x00400000u) >> 23;
    const uint32_t rounded = select(bits < 0x00800000u, subnormal, normal);
    return select(bits == 0 || bits >= 0x7f400000u, 255u, rounded);
  }
};

/// float4_e2m1fn, in the low four bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
struct E2m1fn {
  static constexpr float widen(uint32_t bits) {
    constexpr std::array<float, 8> kMagnitudes = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    const float magnitude = kMagnitudes[bits & 7u];
    return (bits & 8u) != 0 ? -magnitude : magnitude;
  }
  /// To nearest even; beyond 6 it saturates (there is no infinity), NaN becomes 0.
  static constexpr uint32_t narrow(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const float size = std::bit_cast<float>(bits & 0x7fffffffu);
    if (size != size) return 0;
    // Halfway between two numbers goes to the one whose last bit is 0.
    const int rounded = (size > 0.25F) + (size >= 0.75F) + (size > 1.25F) + (size >= 1.75F) +
                        (size > 2.5F) + (size >= 3.5F) + (size > 5);
    return static_cast<uint32_t>(rounded) | (bits >> 31 << 3);
  }
};

/// The 256 values of an fp8 format.
extern const std::array<float, 256> kE4m3Values;
extern const std::array<float, 256> kE4m3fnValues;
extern const std::array<float, 256> kE8m0fnuValues;
extern const std::array<float, 256> kE5m2Values;

/// Widen or narrow `count` contiguous fp16 elements; source and target must not overlap and need no
/// alignment. Uses the instructions of a processor that has them, else the portable loop; both give
/// the same bits.
void widen_half(const void* source, float* target, int64_t count);
void narrow_half(const float* source, void* target, int64_t count);

/// The portable loops, for x86-64 processors without F16C and for the test that compares both.
void widen_half_portable(const void* source, float* target, int64_t count);
void narrow_half_portable(const float* source, void* target, int64_t count);

}  // namespace neuron_sim::float_conversion
