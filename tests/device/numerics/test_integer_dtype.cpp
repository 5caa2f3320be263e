#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "device/base/errors.h"
#include "device/numerics/dtype.h"

namespace neuron_sim {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct IntegerType {
  Dtype dtype;
  int64_t lowest;
  int64_t highest;
};

const IntegerType kIntegerTypes[] = {{Dtype::kInt8, -128, 127},
                                     {Dtype::kInt16, -32768, 32767},
                                     {Dtype::kInt32, INT32_MIN, INT32_MAX},
                                     {Dtype::kUint8, 0, 255},
                                     {Dtype::kUint16, 0, 65535},
                                     {Dtype::kUint32, 0, UINT32_MAX}};

int64_t stored(float value, Dtype dtype) {
  std::byte memory[4] = {};
  store_floats(&value, memory, dtype, itemsize(dtype), 1);
  int64_t result = -77;
  load_integers(memory, dtype, itemsize(dtype), &result, 1);
  return result;
}

int64_t round_trip(int64_t value, Dtype dtype) {
  std::byte memory[4] = {};
  store_integers(&value, memory, dtype, itemsize(dtype), 1);
  int64_t result = -77;
  load_integers(memory, dtype, itemsize(dtype), &result, 1);
  return result;
}

// The oracle: double arithmetic and the C library's rounding.
int64_t rounded_and_saturated(float value, const IntegerType& type) {
  if (std::isnan(value)) return 0;
  const double nearest = std::nearbyint(static_cast<double>(value));
  if (nearest <= static_cast<double>(type.lowest)) return type.lowest;
  if (nearest >= static_cast<double>(type.highest)) return type.highest;
  return static_cast<int64_t>(nearest);
}

TEST(IntegerDtype, FloatsRoundToEvenAndSaturateAtBothEdges) {
  ASSERT_EQ(std::fegetround(), FE_TONEAREST);
  for (const IntegerType& type : kIntegerTypes) {
    std::vector<float> values = {0.0f,       -0.0f,       0.5f,        1.5f,        2.5f,
                                 -0.5f,      -1.5f,       -2.5f,       0.49999997f, 8388607.5f,
                                 8388608.0f, -8388607.5f, 16777217.0f, kInfinity,   -kInfinity,
                                 3e38f,      -3e38f,      1e-45f};
    for (const int64_t edge : {type.lowest, type.highest}) {
      for (const double offset : {-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0}) {
        const float near = static_cast<float>(static_cast<double>(edge) + offset);
        values.insert(values.end(),
                      {near, std::nextafter(near, kInfinity), std::nextafter(near, -kInfinity)});
      }
    }
    for (const float value : values) {
      EXPECT_EQ(stored(value, type.dtype), rounded_and_saturated(value, type))
          << name(type.dtype) << " " << value;
    }
    for (const uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u}) {
      float value;
      std::memcpy(&value, &nan, sizeof value);
      EXPECT_EQ(stored(value, type.dtype), 0) << name(type.dtype);
    }
  }
}

TEST(IntegerDtype, RandomFloatsMatchDoubleArithmeticInLongRows) {
  std::mt19937 random(5);
  for (const IntegerType& type : kIntegerTypes) {
    std::vector<float> values(10007);
    const double span = static_cast<double>(type.highest - type.lowest) * 1.2;
    for (float& value : values) {
      const double share = static_cast<double>(random()) / 4294967296.0 - 0.1;
      value =
          static_cast<float>(std::round((static_cast<double>(type.lowest) + share * span) * 4) / 4);
    }
    const auto count = static_cast<int64_t>(values.size());
    std::vector<std::byte> memory(values.size() * 4);
    store_floats(values.data(), memory.data(), type.dtype, itemsize(type.dtype), count);
    std::vector<int64_t> integers(values.size());
    load_integers(memory.data(), type.dtype, itemsize(type.dtype), integers.data(), count);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(integers[i], rounded_and_saturated(values[i], type))
          << name(type.dtype) << " " << values[i];
    }
  }
}

TEST(IntegerDtype, WideIntegersLoadRoundedToNearestEven) {
  const std::vector<int64_t> interesting = {0,        1,        16777215,   16777216,   16777217,
                                            16777218, 16777219, 2147483583, 2147483584, 2147483647};
  for (const int64_t magnitude : interesting) {
    for (const int64_t value : {magnitude, -magnitude}) {
      const int32_t element = static_cast<int32_t>(value);
      float loaded = 0;
      load_floats(reinterpret_cast<const std::byte*>(&element), Dtype::kInt32, 4, &loaded, 1);
      const double below = std::nextafter(loaded, -kInfinity);
      const double above = std::nextafter(loaded, kInfinity);
      const double distance = std::fabs(static_cast<double>(value) - loaded);
      EXPECT_LE(distance, std::fabs(static_cast<double>(value) - below));
      EXPECT_LE(distance, std::fabs(static_cast<double>(value) - above));
    }
  }
  std::vector<uint32_t> elements = {16777217u, 16777219u, 4294967295u, 4294967167u, 2147483648u,
                                    0u,        1u,        4294967168u, 3000000001u};
  std::vector<float> loaded(elements.size());
  load_floats(reinterpret_cast<const std::byte*>(elements.data()), Dtype::kUint32, 4, loaded.data(),
              static_cast<int64_t>(elements.size()));
  const std::vector<float> expected = {16777216.0f,   16777220.0f,   4294967296.0f,
                                       4294967040.0f, 2147483648.0f, 0.0f,
                                       1.0f,          4294967296.0f, 3000000000.0f};
  EXPECT_EQ(loaded, expected) << "4294967168 is a tie and goes to the even 2^32";
}

TEST(IntegerDtype, EveryNarrowPatternLoadsAsItsValue) {
  for (int64_t bits = 0; bits < 65536; ++bits) {
    const int64_t signed_value = bits < 32768 ? bits : bits - 65536;
    EXPECT_EQ(round_trip(bits, Dtype::kUint16), bits);
    EXPECT_EQ(round_trip(bits, Dtype::kInt16), signed_value);
    EXPECT_EQ(stored(static_cast<float>(signed_value), Dtype::kInt16), signed_value);
    const int64_t byte = bits & 255;
    EXPECT_EQ(round_trip(bits, Dtype::kUint8), byte);
    EXPECT_EQ(round_trip(bits, Dtype::kInt8), byte < 128 ? byte : byte - 256);
  }
}

TEST(IntegerDtype, IntegerStoresWrapAround) {
  EXPECT_EQ(round_trip(128, Dtype::kInt8), -128);
  EXPECT_EQ(round_trip(-129, Dtype::kInt8), 127);
  EXPECT_EQ(round_trip(-1, Dtype::kUint8), 255);
  EXPECT_EQ(round_trip(65536, Dtype::kUint16), 0);
  EXPECT_EQ(round_trip(int64_t{1} << 31, Dtype::kInt32), INT32_MIN);
  EXPECT_EQ(round_trip(-1, Dtype::kUint32), 4294967295);
  EXPECT_EQ(round_trip((int64_t{1} << 32) + 5, Dtype::kUint32), 5);
}

TEST(IntegerDtype, BooleansAreZeroOrOne) {
  for (const float value : {1.0f, -1.0f, 1e-45f, kInfinity, std::nanf("")}) {
    EXPECT_EQ(stored(value, Dtype::kBool), 1) << value;
  }
  EXPECT_EQ(stored(0.0f, Dtype::kBool), 0);
  EXPECT_EQ(stored(-0.0f, Dtype::kBool), 0);
  EXPECT_EQ(round_trip(256, Dtype::kBool), 1);
  EXPECT_EQ(round_trip(0, Dtype::kBool), 0);
  const std::byte odd{0x80};
  float loaded = 0;
  load_floats(&odd, Dtype::kBool, 1, &loaded, 1);
  EXPECT_EQ(loaded, 1.0f);
}

TEST(IntegerDtype, StridedIntegersLeaveTheBytesBetweenAlone) {
  const std::vector<int64_t> values = {1, 2, 3, 100, 5};
  for (const IntegerType& type : kIntegerTypes) {
    const int64_t stride = itemsize(type.dtype) + 2;
    std::vector<std::byte> memory(64, std::byte{0x5a});
    store_integers(values.data(), memory.data(), type.dtype, stride, 5);
    std::vector<int64_t> loaded(5);
    load_integers(memory.data(), type.dtype, stride, loaded.data(), 5);
    EXPECT_EQ(loaded, values) << name(type.dtype);
    EXPECT_EQ(memory[static_cast<size_t>(stride - 1)], std::byte{0x5a});
    store_integers(values.data(), memory.data() + 63, type.dtype, stride, 0);
    EXPECT_EQ(memory[63], std::byte{0x5a});
  }
}

TEST(IntegerDtype, IntegerAccessToFloatsIsABugOfTheSimulator) {
  std::byte memory[4] = {};
  int64_t value = 0;
  EXPECT_THROW(load_integers(memory, Dtype::kBfloat16, 2, &value, 1), SimulatorBug);
  EXPECT_THROW(store_integers(&value, memory, Dtype::kFloat32, 4, 1), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
