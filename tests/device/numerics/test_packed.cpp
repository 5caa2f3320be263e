#include "device/numerics/packed.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct PackedType {
  Dtype dtype;
  int bits;
};
const PackedType kPacked[] = {
    {Dtype::kFloat8E5m2X4, 8}, {Dtype::kFloat8E4m3fnX4, 8}, {Dtype::kFloat4E2m1fnX4, 4}};

/// The oracle: one value by the definition of its format, in double arithmetic.
double decode(Dtype dtype, uint32_t bits) {
  const auto number = [&](int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t fraction = bits & ((1u << mantissa_bits) - 1);
    const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const double scaled = std::ldexp(fraction, -mantissa_bits);
    const double size =
        exponent == 0 ? std::ldexp(scaled, 1 - bias) : std::ldexp(1 + scaled, exponent - bias);
    return bits >> (exponent_bits + mantissa_bits) & 1u ? -size : size;
  };
  switch (dtype) {
    case Dtype::kFloat8E5m2X4:
      if ((bits & 0x7fu) > 0x7cu) return NAN;
      if ((bits & 0x7fu) == 0x7cu) return bits & 0x80u ? -HUGE_VAL : HUGE_VAL;
      return number(5, 2);
    case Dtype::kFloat8E4m3fnX4: return (bits & 0x7fu) == 0x7fu ? NAN : number(4, 3);
    default: return number(2, 1);
  }
}

TEST(Packed, EveryPatternInEveryPlaceWidensToItsDefinitionAndRoundTrips) {
  for (const auto& [dtype, bits] : kPacked) {
    EXPECT_EQ(itemsize(dtype), bits * 4 / 8);
    for (uint32_t pattern = 0; pattern < 1u << bits; ++pattern) {
      for (int place = 0; place < 4; ++place) {
        // The other places hold 1: exponent = bias.
        uint32_t one = 0;
        while (decode(dtype, one) != 1) ++one;
        uint32_t element = 0;
        for (int j = 0; j < 4; ++j) element |= (j == place ? pattern : one) << (j * bits);
        float values[4];
        load_packed(reinterpret_cast<const std::byte*>(&element), dtype, 4, values, 1);
        for (int j = 0; j < 4; ++j) {
          const double expected = j == place ? decode(dtype, pattern) : 1;
          if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(values[j]));
          } else {
            EXPECT_EQ(values[j], expected) << name(dtype) << " " << pattern;
            EXPECT_EQ(std::signbit(values[j]), std::signbit(expected));
          }
        }
        uint32_t back = 0;
        store_packed(values, reinterpret_cast<std::byte*>(&back), dtype, 4, 1);
        if (!std::isnan(decode(dtype, pattern))) {
          EXPECT_EQ(back, element) << name(dtype);
        }
      }
    }
  }
}

TEST(Packed, RandomValuesRoundToTheNearestPattern) {
  std::mt19937 random(5);
  for (const auto& [dtype, bits] : kPacked) {
    const uint32_t half = 1u << (bits - 1);
    for (int i = 0; i < 20000; ++i) {
      const float value = static_cast<float>(std::ldexp(
          static_cast<double>(random() % 2000001) / 1e6 - 1, static_cast<int>(random() % 18) - 10));
      const float values[4] = {value, value, value, value};
      uint32_t element = 0;
      store_packed(values, reinterpret_cast<std::byte*>(&element), dtype, 4, 1);
      const uint32_t pattern = element & ((1u << bits) - 1);
      double best = HUGE_VAL;
      for (uint32_t other = 0; other < half; ++other) {
        const double number = decode(dtype, other);
        if (std::isfinite(number)) best = std::min(best, std::abs(number - std::abs(value)));
      }
      ASSERT_EQ(std::abs(decode(dtype, pattern) - value), best) << name(dtype) << " " << value;
      ASSERT_EQ(pattern / half != 0, std::signbit(value));
    }
  }
}

TEST(Packed, TiesGoToEvenAndOverflowAsTheFormatHasIt) {
  const auto stored = [](Dtype dtype, float value) {
    const float values[4] = {value, 0, 0, 0};
    uint32_t element = 0;
    store_packed(values, reinterpret_cast<std::byte*>(&element), dtype, 4, 1);
    return element;
  };
  const Dtype fp4 = Dtype::kFloat4E2m1fnX4;
  const std::pair<float, uint32_t> ties[] = {{0.25F, 0}, {0.75F, 2}, {1.25F, 2}, {1.75F, 4},
                                             {2.5F, 4},  {3.5F, 6},  {5.0F, 6}};
  for (const auto& [value, pattern] : ties) {
    EXPECT_EQ(stored(fp4, value), pattern) << value;
    EXPECT_EQ(stored(fp4, -value), pattern | 8) << value;
    EXPECT_EQ(stored(fp4, std::nextafter(value, 0.0F)),
              pattern - (decode(fp4, pattern) > value ? 1 : 0));
    EXPECT_EQ(stored(fp4, std::nextafter(value, kInfinity)),
              pattern + (decode(fp4, pattern) < value ? 1 : 0));
  }
  EXPECT_EQ(stored(fp4, 1e30F), 7u);
  EXPECT_EQ(stored(fp4, -kInfinity), 15u);
  EXPECT_EQ(stored(fp4, NAN), 0u);
  const Dtype e4m3fn = Dtype::kFloat8E4m3fnX4;
  EXPECT_EQ(stored(e4m3fn, 464.0F), 0x7eu);
  EXPECT_EQ(stored(e4m3fn, 464.1F), 0x7fu);
  EXPECT_EQ(stored(e4m3fn, -kInfinity), 0xffu);
  const Dtype e5m2 = Dtype::kFloat8E5m2X4;
  EXPECT_EQ(stored(e5m2, 61439.0F), 0x7bu);
  EXPECT_EQ(stored(e5m2, 61440.0F), 0x7cu);
}

TEST(Packed, StridedElementsLeaveTheBytesBetween) {
  for (const auto& [dtype, bits] : kPacked) {
    const std::vector<float> values = {1, -2, 0.5F, 3, 4, -6, 0, 1.5F};
    const int64_t stride = itemsize(dtype) + 3;
    std::vector<std::byte> memory(static_cast<size_t>(2 * stride), std::byte{0x5a});
    store_packed(values.data(), memory.data(), dtype, stride, 2);
    std::vector<float> loaded(8);
    load_packed(memory.data(), dtype, stride, loaded.data(), 2);
    EXPECT_EQ(loaded, values);
    for (int64_t i = itemsize(dtype); i < stride; ++i) {
      EXPECT_EQ(memory[static_cast<size_t>(i)], std::byte{0x5a});
    }
    fill_uninitialised(memory.data(), dtype, stride, 2);
    load_packed(memory.data(), dtype, stride, loaded.data(), 2);
    for (const float value : loaded) {
      EXPECT_TRUE(bits == 4 ? value == 0 : std::isnan(value)) << name(dtype);
    }
  }
}

TEST(Packed, HaveNoSingleValueAndOthersHaveNotFour) {
  std::byte memory[4] = {};
  float value = 0;
  for (const auto& [dtype, bits] : kPacked) {
    const std::string sentence = text("elements of dtype ", name(dtype),
                                      " hold four values each; they have no single value to "
                                      "compute with.");
    try {
      load_floats(memory, dtype, 4, &value, 1);
      FAIL() << "no error";
    } catch (const KernelError& error) {
      EXPECT_EQ(error.what(), sentence);
      EXPECT_EQ(error.kind(), ErrorKind::kType);
    }
    EXPECT_THROW(store_floats(&value, memory, dtype, 4, 1), KernelError);
  }
  float values[4];
  EXPECT_THROW(load_packed(memory, Dtype::kFloat32, 4, values, 1), SimulatorBug);
  EXPECT_THROW(store_packed(values, memory, Dtype::kFloat8E5m2, 4, 1), SimulatorBug);
}

TEST(ScaleDtype, EveryPatternIsAPowerOfTwo) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<std::byte>(bits);
    float value = 0;
    load_floats(&byte, Dtype::kFloat8E8m0fnu, 1, &value, 1);
    std::byte back{};
    store_floats(&value, &back, Dtype::kFloat8E8m0fnu, 1, 1);
    EXPECT_EQ(back, byte);
    if (bits == 255) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(value, std::ldexp(1.0, static_cast<int>(bits) - 127));
    }
  }
}

TEST(ScaleDtype, RoundsHalfwayUpAndHasNoZeroAndNoSign) {
  const auto stored = [](float value) {
    std::byte byte{};
    store_floats(&value, &byte, Dtype::kFloat8E8m0fnu, 1, 1);
    return static_cast<int>(byte);
  };
  for (int exponent = -126; exponent < 127; ++exponent) {
    const float halfway = static_cast<float>(std::ldexp(1.5, exponent));
    EXPECT_EQ(stored(halfway), exponent + 128);
    EXPECT_EQ(stored(std::nextafter(halfway, 0.0F)), exponent + 127);
  }
  EXPECT_EQ(stored(static_cast<float>(std::ldexp(1.5, -127))), 1);
  EXPECT_EQ(stored(std::bit_cast<float>(0x005fffffu)), 0);
  EXPECT_EQ(stored(std::bit_cast<float>(1u)), 0);
  EXPECT_EQ(stored(std::bit_cast<float>(0x7f3fffffu)), 254);
  for (const float value :
       {std::bit_cast<float>(0x7f400000u), kInfinity, NAN, 0.0F, -0.0F, -1.0F, -kInfinity}) {
    EXPECT_EQ(stored(value), 255) << value;
  }
}

}  // namespace
}  // namespace neuron_sim
