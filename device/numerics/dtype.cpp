#include "device/numerics/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "device/base/errors.h"
#include "device/numerics/elements.h"
#include "device/numerics/float_conversion.h"
#include "device/vector/narrow_integers.h"

namespace neuron_sim {

namespace {

using float_conversion::select;

enum class Kind : uint8_t { kInteger, kFloat, kPacked };

struct Properties {
  std::string_view name;
  int itemsize;
  Kind kind;
};

// In the order of Dtype.
constexpr std::array<Properties, kDtypeCount> kProperties = {{
    {"bool_", 1, Kind::kInteger},
    {"int8", 1, Kind::kInteger},
    {"int16", 2, Kind::kInteger},
    {"int32", 4, Kind::kInteger},
    {"uint8", 1, Kind::kInteger},
    {"uint16", 2, Kind::kInteger},
    {"uint32", 4, Kind::kInteger},
    {"float8_e4m3", 1, Kind::kFloat},
    {"float8_e5m2", 1, Kind::kFloat},
    {"float16", 2, Kind::kFloat},
    {"bfloat16", 2, Kind::kFloat},
    {"tfloat32", 4, Kind::kFloat},
    {"float32", 4, Kind::kFloat},
    {"float8_e4m3fn", 1, Kind::kFloat},
    {"float8_e8m0fnu", 1, Kind::kFloat},
    {"float8_e5m2_x4", 4, Kind::kPacked},
    {"float8_e4m3fn_x4", 4, Kind::kPacked},
    {"float4_e2m1fn_x4", 2, Kind::kPacked},
}};

const Properties& properties(Dtype dtype) { return kProperties[static_cast<size_t>(dtype)]; }

void load_half(const std::byte* source, int64_t stride, float* target, int64_t count) {
  namespace fc = float_conversion;
  if (stride == 2) return fc::widen_half(source, target, count);
  elements::load<uint16_t>(source, stride, target, count,
                           [](uint16_t bits) { return fc::Half::widen(bits); });
}

void store_half(const float* source, std::byte* target, int64_t stride, int64_t count) {
  namespace fc = float_conversion;
  if (stride == 2) return fc::narrow_half(source, target, count);
  elements::store<uint16_t>(source, target, stride, count, [](float value) {
    return static_cast<uint16_t>(fc::Half::narrow(value));
  });
}

template <typename Integer>
void load_as_float(const std::byte* source, int64_t stride, float* target, int64_t count) {
  elements::load<Integer>(source, stride, target, count,
                          [](Integer value) { return static_cast<float>(value); });
}

/// With loops for one element, repeated, and for every other one, as windows of stride 2 read: the
/// compiler knows no strides.
void load_fp32(const std::byte* source, int64_t stride, float* target, int64_t count) {
  constexpr int64_t kItem = sizeof(float), kLanes = 4;
  if (stride == 0 && count > 0) {
    float value = 0;
    std::memcpy(&value, source, sizeof value);
    std::fill_n(target, count, value);
    return;
  }
  int64_t i = 0;
  // While another element follows: their vectors end beyond the fourth, where it begins.
  for (; stride == 2 * kItem && i + kLanes < count; i += kLanes) {
    using Floats [[gnu::vector_size(kLanes * kItem)]] = float;
    Floats low, high;
    std::memcpy(&low, source + i * stride, sizeof low);
    std::memcpy(&high, source + i * stride + sizeof low, sizeof high);
    low = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    std::memcpy(target + i, &low, sizeof low);
  }
  load_as_float<float>(source + i * stride, stride, target + i, count - i);
}

/// To nearest even, saturating, NaN becomes 0; for integers whose values are exact in fp32.
template <typename Integer>
Integer narrow_integer(float value) {
  constexpr float kLowest = static_cast<float>(std::numeric_limits<Integer>::lowest());
  constexpr float kHighest = static_cast<float>(std::numeric_limits<Integer>::max());
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits (no libm call, vectorises).
  constexpr float kMagic = 12582912.0f;
  const auto bits = [](float number) { return std::bit_cast<uint32_t>(number); };
  uint32_t clamped = select(value < kLowest, bits(kLowest), bits(value));
  clamped = select(value > kHighest, bits(kHighest), clamped);
  clamped = select(value != value, 0, clamped);
  return static_cast<Integer>(bits(std::bit_cast<float>(clamped) + kMagic) - bits(kMagic));
}

/// Narrows to int32 or uint32, whose largest value is not an fp32 number.
template <typename Integer>
Integer narrow_wide_integer(float value) {
  constexpr float kLowest = static_cast<float>(std::numeric_limits<Integer>::lowest());
  constexpr float kBeyond = std::is_signed_v<Integer> ? 2147483648.0f : 4294967296.0f;
  if (!(value == value)) return 0;
  if (value >= kBeyond) return std::numeric_limits<Integer>::max();
  if (value <= kLowest) return std::numeric_limits<Integer>::lowest();
  // |value| >= 2^23 is integral already; below, 2^23 pushes the fraction out.
  constexpr float kMagic = 8388608.0f;
  if (value < kMagic && value > -kMagic) {
    value = value < 0 ? (value - kMagic) + kMagic : (value + kMagic) - kMagic;
  }
  return static_cast<Integer>(static_cast<int64_t>(value));
}

template <typename Integer>
void store_as_integer(const float* source, std::byte* target, int64_t stride, int64_t count) {
  elements::store<Integer>(source, target, stride, count, [](float value) {
    if constexpr (sizeof(Integer) == 4) {
      return narrow_wide_integer<Integer>(value);
    } else {
      return narrow_integer<Integer>(value);
    }
  });
}

/// int32 or uint32, gapless ones four at a time.
template <typename Integer>
void store_wide_integers(const float* source, std::byte* target, int64_t stride, int64_t count) {
  constexpr int64_t kLanes = 4;
  int64_t i = 0;
  for (; stride == int64_t{sizeof(Integer)} && i + kLanes <= count; i += kLanes) {
    narrow_four<Integer>(source + i, target + i * stride);
  }
  store_as_integer<Integer>(source + i, target + i * stride, stride, count - i);
}

template <typename Element>
void fill(std::byte* target, Element element, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * stride, &element, sizeof element);
  }
}

void require_integer(Dtype dtype) {
  if (!is_integer(dtype)) {
    require(false, text("integer access to elements of dtype ", name(dtype)));
  }
}

[[noreturn]] void refuse_packed(Dtype dtype) {
  fail(text("elements of dtype ", name(dtype),
            " hold four values each; they have no single value to compute with."),
       ErrorKind::kType);
}

/// 8-bit floats through the table of their values.
void load_fp8(const std::array<float, 256>& values, const std::byte* source, int64_t stride,
              float* target, int64_t count) {
  elements::load<uint8_t>(source, stride, target, count,
                          [&](uint8_t bits) { return values[bits]; });
}

template <typename Float8>
void store_fp8(const float* source, std::byte* target, int64_t stride, int64_t count) {
  elements::store<uint8_t>(source, target, stride, count,
                           [](float value) { return static_cast<uint8_t>(Float8::narrow(value)); });
}

}  // namespace

int itemsize(Dtype dtype) { return properties(dtype).itemsize; }
std::string_view name(Dtype dtype) { return properties(dtype).name; }
bool is_float(Dtype dtype) { return properties(dtype).kind == Kind::kFloat; }
bool is_integer(Dtype dtype) { return properties(dtype).kind == Kind::kInteger; }
bool is_packed(Dtype dtype) { return properties(dtype).kind == Kind::kPacked; }
bool is_low_precision(Dtype dtype) { return is_float(dtype) && itemsize(dtype) < 4; }

std::optional<Dtype> parse_dtype(std::string_view name) {
  if (name == "bool") return Dtype::kBool;
  for (size_t i = 0; i < kProperties.size(); ++i) {
    if (kProperties[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

void load_floats(const std::byte* source, Dtype dtype, int64_t stride, float* target,
                 int64_t count) {
  namespace fc = float_conversion;
  switch (dtype) {
    case Dtype::kBool:
      return elements::load<uint8_t>(source, stride, target, count,
                                     [](uint8_t byte) { return byte != 0 ? 1.0f : 0.0f; });
    case Dtype::kInt8: return load_as_float<int8_t>(source, stride, target, count);
    case Dtype::kInt16: return load_as_float<int16_t>(source, stride, target, count);
    case Dtype::kInt32: return load_as_float<int32_t>(source, stride, target, count);
    case Dtype::kUint8: return load_as_float<uint8_t>(source, stride, target, count);
    case Dtype::kUint16: return load_as_float<uint16_t>(source, stride, target, count);
    case Dtype::kUint32: return load_as_float<uint32_t>(source, stride, target, count);
    case Dtype::kFloat8E4m3: return load_fp8(fc::kE4m3Values, source, stride, target, count);
    case Dtype::kFloat8E5m2: return load_fp8(fc::kE5m2Values, source, stride, target, count);
    case Dtype::kFloat8E4m3fn: return load_fp8(fc::kE4m3fnValues, source, stride, target, count);
    case Dtype::kFloat8E8m0fnu: return load_fp8(fc::kE8m0fnuValues, source, stride, target, count);
    case Dtype::kFloat16: return load_half(source, stride, target, count);
    case Dtype::kBfloat16:
      return elements::load<uint16_t>(source, stride, target, count,
                                      [](uint16_t bits) { return fc::widen_bfloat16(bits); });
    case Dtype::kTfloat32:
      return elements::load<uint32_t>(source, stride, target, count,
                                      [](uint32_t bits) { return fc::truncate_tfloat32(bits); });
    case Dtype::kFloat32: return load_fp32(source, stride, target, count);
    case Dtype::kFloat8E5m2X4:
    case Dtype::kFloat8E4m3fnX4:
    case Dtype::kFloat4E2m1fnX4: refuse_packed(dtype);
  }
}

void store_floats(const float* source, std::byte* target, Dtype dtype, int64_t stride,
                  int64_t count) {
  namespace fc = float_conversion;
  switch (dtype) {
    case Dtype::kBool:
      return elements::store<uint8_t>(source, target, stride, count, [](float value) {
        // By bits: a comparison would take subnormals for 0 while denormals-are-zero is set.
        return static_cast<uint8_t>((std::bit_cast<uint32_t>(value) & 0x7fffffffu) != 0);
      });
    case Dtype::kInt8: return store_as_integer<int8_t>(source, target, stride, count);
    case Dtype::kInt16: return store_as_integer<int16_t>(source, target, stride, count);
    case Dtype::kInt32: return store_wide_integers<int32_t>(source, target, stride, count);
    case Dtype::kUint8: return store_as_integer<uint8_t>(source, target, stride, count);
    case Dtype::kUint16: return store_as_integer<uint16_t>(source, target, stride, count);
    case Dtype::kUint32: return store_wide_integers<uint32_t>(source, target, stride, count);
    case Dtype::kFloat8E4m3: return store_fp8<fc::E4m3>(source, target, stride, count);
    case Dtype::kFloat8E5m2: return store_fp8<fc::E5m2>(source, target, stride, count);
    case Dtype::kFloat8E4m3fn: return store_fp8<fc::E4m3fn>(source, target, stride, count);
    case Dtype::kFloat8E8m0fnu: return store_fp8<fc::E8m0fnu>(source, target, stride, count);
    case Dtype::kFloat16: return store_half(source, target, stride, count);
    case Dtype::kBfloat16:
      return elements::store<uint16_t>(source, target, stride, count,
                                       [](float value) { return fc::narrow_bfloat16(value); });
    case Dtype::kTfloat32:
      return elements::store<uint32_t>(source, target, stride, count,
                                       [](float value) { return fc::narrow_tfloat32(value); });
    case Dtype::kFloat32:
      return elements::store<float>(source, target, stride, count,
                                    [](float value) { return value; });
    case Dtype::kFloat8E5m2X4:
    case Dtype::kFloat8E4m3fnX4:
    case Dtype::kFloat4E2m1fnX4: refuse_packed(dtype);
  }
}

void load_integers(const std::byte* source, Dtype dtype, int64_t stride, int64_t* target,
                   int64_t count) {
  const auto load = [&](auto example) {
    using Integer = decltype(example);
    elements::load<Integer>(source, stride, target, count,
                            [](Integer value) { return static_cast<int64_t>(value); });
  };
  require_integer(dtype);
  switch (dtype) {
    case Dtype::kInt8: return load(int8_t{});
    case Dtype::kInt16: return load(int16_t{});
    case Dtype::kInt32: return load(int32_t{});
    case Dtype::kUint8: return load(uint8_t{});
    case Dtype::kUint16: return load(uint16_t{});
    case Dtype::kUint32: return load(uint32_t{});
    default:
      return elements::load<uint8_t>(source, stride, target, count,
                                     [](uint8_t byte) { return int64_t{byte != 0}; });
  }
}

void store_integers(const int64_t* source, std::byte* target, Dtype dtype, int64_t stride,
                    int64_t count) {
  require_integer(dtype);
  if (dtype == Dtype::kBool) {
    return elements::store<uint8_t>(source, target, stride, count,
                                    [](int64_t value) { return static_cast<uint8_t>(value != 0); });
  }
  const auto store = [&](auto example) {
    using Integer = decltype(example);
    elements::store<Integer>(source, target, stride, count,
                             [](int64_t value) { return static_cast<Integer>(value); });
  };
  switch (itemsize(dtype)) {
    case 1: return store(uint8_t{});
    case 2: return store(uint16_t{});
    default: return store(uint32_t{});
  }
}

void fill_uninitialised(std::byte* target, Dtype dtype, int64_t stride, int64_t count) {
  switch (dtype) {
    case Dtype::kBool: return fill<uint8_t>(target, 1, stride, count);
    case Dtype::kFloat8E4m3: return fill<uint8_t>(target, 0x7c, stride, count);
    case Dtype::kFloat8E5m2: return fill<uint8_t>(target, 0x7e, stride, count);
    case Dtype::kFloat8E4m3fn: return fill<uint8_t>(target, 0x7f, stride, count);
    case Dtype::kFloat8E8m0fnu: return fill<uint8_t>(target, 0xff, stride, count);
    case Dtype::kFloat8E5m2X4: return fill<uint32_t>(target, 0x7e7e7e7e, stride, count);
    case Dtype::kFloat8E4m3fnX4: return fill<uint32_t>(target, 0x7f7f7f7f, stride, count);
    case Dtype::kFloat4E2m1fnX4: return fill<uint16_t>(target, 0, stride, count);
    case Dtype::kFloat16: return fill<uint16_t>(target, 0x7e00, stride, count);
    case Dtype::kBfloat16: return fill<uint16_t>(target, 0x7fc0, stride, count);
    case Dtype::kTfloat32:
    case Dtype::kFloat32: return fill<uint32_t>(target, 0x7fc00000, stride, count);
    default: break;
  }
  switch (itemsize(dtype)) {
    case 1: return fill<uint8_t>(target, 4, stride, count);
    case 2: return fill<uint16_t>(target, 4, stride, count);
    default: return fill<uint32_t>(target, 4, stride, count);
  }
}

}  // namespace neuron_sim
