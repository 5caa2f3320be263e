#include "device/numerics/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "device/base/errors.h"
#include "device/numerics/float_conversion.h"

namespace neuron_sim {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Dtype> all_dtypes() {
  std::vector<Dtype> dtypes;
  for (int i = 0; i < kDtypeCount; ++i) dtypes.push_back(static_cast<Dtype>(i));
  return dtypes;
}

/// Those with one value per element.
std::vector<Dtype> scalar_dtypes() {
  std::vector<Dtype> dtypes = all_dtypes();
  std::erase_if(dtypes, is_packed);
  return dtypes;
}

float load_bits(uint32_t bits, Dtype dtype) {
  std::byte memory[4];
  std::memcpy(memory, &bits, sizeof memory);
  float value = -1;
  load_floats(memory, dtype, itemsize(dtype), &value, 1);
  return value;
}

uint32_t store_bits(float value, Dtype dtype) {
  std::byte memory[4] = {};
  store_floats(&value, memory, dtype, itemsize(dtype), 1);
  uint32_t bits = 0;
  std::memcpy(&bits, memory, sizeof memory);
  return bits;
}

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// The oracle: a format by its definition, in double arithmetic.
struct FloatFormat {
  Dtype dtype;
  int exponent_bits;
  int mantissa_bits;
  bool finite = false;  // no infinity; all ones is NaN
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  // The least pattern that is no number.
  uint32_t magnitude_of_infinity() const {
    return finite ? sign() - 1 : ((1u << exponent_bits) - 1) << mantissa_bits;
  }
  uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }

  // What the pattern would be if no exponent were special.
  double number(uint32_t magnitude) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(magnitude >> mantissa_bits);
    const double fraction = magnitude & ((1u << mantissa_bits) - 1);
    const double scaled = std::ldexp(fraction, -mantissa_bits);
    return exponent == 0 ? std::ldexp(scaled, 1 - bias) : std::ldexp(1 + scaled, exponent - bias);
  }

  double value(uint32_t pattern) const {
    const uint32_t magnitude = pattern & (sign() - 1);
    const double result = number(magnitude);
    if (magnitude > magnitude_of_infinity()) return std::nan("");
    if (magnitude == magnitude_of_infinity()) {
      if (finite) return std::nan("");
      return pattern & sign() ? -HUGE_VAL : HUGE_VAL;
    }
    return pattern & sign() ? -result : result;
  }

  // Nearest pattern by search over all magnitudes; infinity counts as the next power of two.
  uint32_t nearest(float wanted) const {
    const double target = std::fabs(static_cast<double>(wanted));
    uint32_t low = 0;
    uint32_t high = magnitude_of_infinity();
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (value(middle) <= target ? low : high) = middle;
    }
    const double above = high == magnitude_of_infinity() ? beyond() : value(high);
    const double to_low = target - value(low);
    const double to_high = above - target;
    const bool up = to_high < to_low || (to_high == to_low && (low & 1u) == 1);
    return (up ? high : low) | (std::signbit(wanted) ? sign() : 0);
  }

  double beyond() const { return number(magnitude_of_infinity()); }
};

const FloatFormat kFormats[] = {{Dtype::kFloat8E4m3, 4, 3},
                                {Dtype::kFloat8E4m3fn, 4, 3, true},
                                {Dtype::kFloat8E5m2, 5, 2},
                                {Dtype::kFloat16, 5, 10},
                                {Dtype::kBfloat16, 8, 7}};

TEST(Dtype, NamesSizesAndKindsAgree) {
  for (const Dtype dtype : all_dtypes()) {
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
    EXPECT_EQ(is_float(dtype) + is_integer(dtype) + is_packed(dtype), 1) << name(dtype);
    EXPECT_EQ(is_low_precision(dtype), is_float(dtype) && itemsize(dtype) < 4) << name(dtype);
  }
  EXPECT_EQ(parse_dtype("bool"), Dtype::kBool);
  EXPECT_EQ(name(Dtype::kBool), "bool_");
  EXPECT_EQ(name(Dtype::kFloat8E4m3), "float8_e4m3");
  EXPECT_EQ(name(Dtype::kTfloat32), "tfloat32");
  EXPECT_EQ(parse_dtype("float64"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(itemsize(Dtype::kBool), 1);
  EXPECT_EQ(itemsize(Dtype::kFloat8E5m2), 1);
  EXPECT_EQ(itemsize(Dtype::kUint16), 2);
  EXPECT_EQ(itemsize(Dtype::kTfloat32), 4);
  EXPECT_TRUE(is_integer(Dtype::kBool));
  EXPECT_EQ(name(Dtype::kFloat8E4m3fn), "float8_e4m3fn");
  EXPECT_EQ(name(Dtype::kFloat8E8m0fnu), "float8_e8m0fnu");
  EXPECT_TRUE(is_float(Dtype::kFloat8E8m0fnu));
  EXPECT_FALSE(is_packed(Dtype::kFloat8E4m3fn));
}

TEST(Dtype, EveryPatternWidensToItsDefinitionAndRoundTrips) {
  for (const FloatFormat& format : kFormats) {
    for (uint32_t bits = 0; bits < (1u << format.bits()); ++bits) {
      const float widened = load_bits(bits, format.dtype);
      const double expected = format.value(bits);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(widened)) << name(format.dtype) << " " << bits;
        const uint32_t quiet = 1u << (format.mantissa_bits - 1);
        EXPECT_EQ(store_bits(widened, format.dtype), bits | quiet);
      } else {
        EXPECT_EQ(widened, expected) << name(format.dtype) << " " << bits;
        EXPECT_EQ(store_bits(widened, format.dtype), bits) << name(format.dtype);
      }
    }
  }
}

TEST(Dtype, MidpointsRoundToEvenAndTheirNeighboursToTheNearer) {
  for (const FloatFormat& format : kFormats) {
    for (uint32_t low = 0; low < format.magnitude_of_infinity(); ++low) {
      const uint32_t high = low + 1;
      const double above =
          high == format.magnitude_of_infinity() ? format.beyond() : format.value(high);
      const float middle = static_cast<float>((format.value(low) + above) / 2);
      const uint32_t even = low & 1u ? high : low;
      for (const float sign : {1.0f, -1.0f}) {
        const uint32_t sign_bit = sign < 0 ? format.sign() : 0;
        EXPECT_EQ(store_bits(sign * middle, format.dtype), even | sign_bit);
        EXPECT_EQ(store_bits(sign * std::nextafter(middle, 0.0f), format.dtype), low | sign_bit);
        EXPECT_EQ(store_bits(sign * std::nextafter(middle, kInfinity), format.dtype),
                  high | sign_bit);
      }
    }
  }
}

TEST(Dtype, RandomValuesRoundToTheNearestPatternOfAnExhaustiveSearch) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    for (const FloatFormat& format : kFormats) {
      ASSERT_EQ(store_bits(value, format.dtype), format.nearest(value))
          << name(format.dtype) << " " << value;
    }
  }
}

TEST(Dtype, OverflowBecomesInfinityAtTheMidpointBeyondTheLargestValue) {
  EXPECT_EQ(load_bits(store_bits(240.0f, Dtype::kFloat8E4m3), Dtype::kFloat8E4m3), 240.0f);
  EXPECT_EQ(load_bits(store_bits(247.99f, Dtype::kFloat8E4m3), Dtype::kFloat8E4m3), 240.0f);
  EXPECT_EQ(load_bits(store_bits(248.0f, Dtype::kFloat8E4m3), Dtype::kFloat8E4m3), kInfinity);
  EXPECT_EQ(load_bits(store_bits(-248.0f, Dtype::kFloat8E4m3), Dtype::kFloat8E4m3), -kInfinity);
  EXPECT_EQ(load_bits(store_bits(61439.0f, Dtype::kFloat8E5m2), Dtype::kFloat8E5m2), 57344.0f);
  EXPECT_EQ(load_bits(store_bits(61440.0f, Dtype::kFloat8E5m2), Dtype::kFloat8E5m2), kInfinity);
  EXPECT_EQ(load_bits(store_bits(65519.0f, Dtype::kFloat16), Dtype::kFloat16), 65504.0f);
  EXPECT_EQ(load_bits(store_bits(65520.0f, Dtype::kFloat16), Dtype::kFloat16), kInfinity);
  const float largest = std::numeric_limits<float>::max();
  for (const FloatFormat& format : kFormats) {
    for (const float value : {largest, kInfinity}) {
      EXPECT_EQ(store_bits(value, format.dtype), format.magnitude_of_infinity());
      EXPECT_EQ(store_bits(-value, format.dtype), format.magnitude_of_infinity() | format.sign());
    }
    for (const uint32_t nan : {0x7f800001u, 0x7fc00000u, 0xffffffffu, 0xff800001u}) {
      const uint32_t bits = store_bits(std::bit_cast<float>(nan), format.dtype);
      EXPECT_TRUE(std::isnan(format.value(bits))) << name(format.dtype);
      EXPECT_TRUE(bits & (1u << (format.mantissa_bits - 1))) << "a quiet NaN";
      EXPECT_EQ((bits & format.sign()) != 0, nan >> 31 != 0);
    }
    EXPECT_EQ(store_bits(-0.0f, format.dtype), format.sign());
  }
  EXPECT_EQ(store_bits(std::numeric_limits<float>::denorm_min(), Dtype::kFloat16), 0u);
}

TEST(Dtype, Tfloat32KeepsTenMantissaBits) {
  const Dtype tf32 = Dtype::kTfloat32;
  EXPECT_EQ(load_bits(store_bits(1.0f + 0x1p-10f, tf32), tf32), 1.0f + 0x1p-10f);
  EXPECT_EQ(load_bits(store_bits(1.0f + 0x1p-11f, tf32), tf32), 1.0f) << "a tie, to even";
  EXPECT_EQ(load_bits(store_bits(1.0f + 3 * 0x1p-11f, tf32), tf32), 1.0f + 2 * 0x1p-10f);
  EXPECT_EQ(load_bits(store_bits(1.0f + 0x1.01p-11f, tf32), tf32), 1.0f + 0x1p-10f);
  EXPECT_EQ(store_bits(1.2345678f, tf32) & 0x1fffu, 0u);
  EXPECT_EQ(load_bits(0x3f801fffu, tf32), 1.0f) << "loading drops the low bits";
  EXPECT_TRUE(std::isnan(load_bits(0x7f800001u, tf32)));
  EXPECT_TRUE(std::isnan(load_bits(store_bits(std::bit_cast<float>(0xff800001u), tf32), tf32)));
  EXPECT_EQ(load_bits(store_bits(std::numeric_limits<float>::max(), tf32), tf32), kInfinity);
  EXPECT_EQ(load_bits(store_bits(-kInfinity, tf32), tf32), -kInfinity);
  EXPECT_EQ(store_bits(-0.0f, tf32), 0x80000000u);
}

TEST(Dtype, Float32PassesEveryBit) {
  for (const uint32_t bits : {0u, 0x80000000u, 1u, 0x7f800001u, 0x7fc12345u, 0x3f800001u}) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    EXPECT_EQ(store_bits(value, Dtype::kFloat32), bits);
    EXPECT_EQ(std::bit_cast<uint32_t>(load_bits(bits, Dtype::kFloat32)), bits);
  }
}

// Every 16-bit pattern, and around every rounding boundary of fp16, in one array whose length is
// no multiple of a vector.
TEST(Dtype, BothHalfPathsGiveTheSameBits) {
  namespace fc = float_conversion;
  std::vector<uint16_t> halves(65536 + 5);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const auto count = static_cast<int64_t>(halves.size());
  std::vector<float> fast(halves.size()), portable(halves.size());
  fc::widen_half(halves.data(), fast.data(), count);
  fc::widen_half_portable(halves.data(), portable.data(), count);
  EXPECT_EQ(std::memcmp(fast.data(), portable.data(), fast.size() * sizeof(float)), 0);

  std::vector<float> values;
  for (uint32_t high = 0; high < 65536 * 8; ++high) {
    for (const uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
      values.push_back(std::bit_cast<float>((high << 13) | low));
    }
  }
  values.push_back(1.0f);
  std::vector<uint16_t> first(values.size()), second(values.size());
  const auto many = static_cast<int64_t>(values.size());
  fc::narrow_half(values.data(), first.data(), many);
  fc::narrow_half_portable(values.data(), second.data(), many);
  EXPECT_EQ(first, second);
}

TEST(Dtype, ContiguousAndStridedAccessGiveTheSameElements) {
  std::mt19937 random(3);
  for (const Dtype dtype : scalar_dtypes()) {
    const int size = itemsize(dtype);
    for (const int64_t count : {0, 1, 7, 8, 9, 33, 1000}) {
      std::vector<float> values(static_cast<size_t>(count));
      for (float& value : values) value = std::bit_cast<float>(static_cast<uint32_t>(random()));
      const size_t bytes = static_cast<size_t>(count * size);
      std::vector<std::byte> dense(bytes + 8, std::byte{0xa5});
      store_floats(values.data(), dense.data(), dtype, size, count);
      EXPECT_EQ(dense[bytes], std::byte{0xa5}) << "one past the end";
      std::vector<float> reference(values.size());
      load_floats(dense.data(), dtype, size, reference.data(), count);
      for (const int64_t stride : {size + 1, 2 * size, 16, 37}) {
        std::vector<std::byte> sparse(static_cast<size_t>(count * stride) + 8, std::byte{0xa5});
        store_floats(values.data(), sparse.data() + 1, dtype, stride, count);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::memcmp(&sparse[static_cast<size_t>(i * stride) + 1],
                                &dense[static_cast<size_t>(i * size)], static_cast<size_t>(size)),
                    0)
              << name(dtype);
          ASSERT_EQ(sparse[static_cast<size_t>(i * stride + size) + 1], std::byte{0xa5});
        }
        std::vector<float> loaded(values.size());
        load_floats(sparse.data() + 1, dtype, stride, loaded.data(), count);
        ASSERT_EQ(bits_of(loaded), bits_of(reference)) << name(dtype);
      }
      std::vector<float> repeated(values.size());
      load_floats(dense.data(), dtype, 0, repeated.data(), count);
      std::fill(reference.begin(), reference.end(), count > 0 ? reference[0] : 0);
      ASSERT_EQ(bits_of(repeated), bits_of(reference)) << name(dtype);
    }
  }
}

TEST(Dtype, UninitialisedMemoryIsNanOrFourOrTrue) {
  for (const Dtype dtype : scalar_dtypes()) {
    const int stride = itemsize(dtype) + 3;
    std::vector<std::byte> memory(static_cast<size_t>(4 * stride), std::byte{0x5a});
    fill_uninitialised(memory.data(), dtype, stride, 3);
    float values[3];
    load_floats(memory.data(), dtype, stride, values, 3);
    for (const float value : values) {
      if (is_float(dtype)) {
        EXPECT_TRUE(std::isnan(value)) << name(dtype);
      } else {
        EXPECT_EQ(value, dtype == Dtype::kBool ? 1.0f : 4.0f) << name(dtype);
      }
    }
    EXPECT_EQ(memory[static_cast<size_t>(itemsize(dtype))], std::byte{0x5a});
    EXPECT_EQ(memory[static_cast<size_t>(3 * stride)], std::byte{0x5a});
    fill_uninitialised(memory.data() + 3 * stride, dtype, stride, 0);
    EXPECT_EQ(memory[static_cast<size_t>(3 * stride)], std::byte{0x5a});
  }
}

}  // namespace
}  // namespace neuron_sim
