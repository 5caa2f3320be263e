#include "device/numerics/packed.h"

#include <cstring>

#include "device/base/errors.h"
#include "device/numerics/float_conversion.h"

namespace neuron_sim {
namespace {

namespace fc = float_conversion;

/// `bits` per value; value j is in bits j * bits and up of the element.
template <typename Element, int bits, typename Format>
void load(const std::byte* source, int64_t stride, float* target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Element element;
    std::memcpy(&element, source + i * stride, sizeof element);
    for (int j = 0; j < kPackedValues; ++j) {
      const uint32_t value = (uint32_t{element} >> (j * bits)) & ((1u << bits) - 1);
      target[i * kPackedValues + j] = Format::widen(value);
    }
  }
}

template <typename Element, int bits, typename Format>
void store(const float* source, std::byte* target, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t element = 0;
    for (int j = 0; j < kPackedValues; ++j) {
      element |= Format::narrow(source[i * kPackedValues + j]) << (j * bits);
    }
    const auto narrow = static_cast<Element>(element);
    std::memcpy(target + i * stride, &narrow, sizeof narrow);
  }
}

[[noreturn]] void refuse(Dtype dtype) {
  require(false, text("packed access to elements of dtype ", name(dtype)));
  __builtin_unreachable();
}

}  // namespace

void load_packed(const std::byte* source, Dtype dtype, int64_t stride, float* target,
                 int64_t count) {
  switch (dtype) {
    case Dtype::kFloat8E5m2X4: return load<uint32_t, 8, fc::E5m2>(source, stride, target, count);
    case Dtype::kFloat8E4m3fnX4:
      return load<uint32_t, 8, fc::E4m3fn>(source, stride, target, count);
    case Dtype::kFloat4E2m1fnX4:
      return load<uint16_t, 4, fc::E2m1fn>(source, stride, target, count);
    default: refuse(dtype);
  }
}

void store_packed(const float* source, std::byte* target, Dtype dtype, int64_t stride,
                  int64_t count) {
  switch (dtype) {
    case Dtype::kFloat8E5m2X4: return store<uint32_t, 8, fc::E5m2>(source, target, stride, count);
    case Dtype::kFloat8E4m3fnX4:
      return store<uint32_t, 8, fc::E4m3fn>(source, target, stride, count);
    case Dtype::kFloat4E2m1fnX4:
      return store<uint16_t, 4, fc::E2m1fn>(source, target, stride, count);
    default: refuse(dtype);
  }
}

}  // namespace neuron_sim
