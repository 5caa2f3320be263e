#pragma once
// Loops over elements in memory: contiguous ones, which the compiler vectorises, and strided ones.
// Internal to device/numerics.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace neuron_sim::elements {

/// target[i] = convert(element i), elements being `stride` bytes apart, without alignment.
template <typename Element, typename Target, typename Convert>
void load(const std::byte* source, int64_t stride, Target* target, int64_t count,
          Convert convert) {
  const std::byte* __restrict from = source;
  Target* __restrict to = target;
  const auto loop = [&](int64_t step) __attribute__((always_inline)) {
    for (int64_t i = 0; i < count; ++i) {
      Element element;
      std::memcpy(&element, from + i * step, sizeof element);
      to[i] = convert(element);
    }
  };
  if (stride == static_cast<int64_t>(sizeof(Element))) {
    loop(sizeof(Element));
  } else {
    loop(stride);
  }
}

/// Element i = convert(source[i]), elements being `stride` bytes apart, without alignment. Bytes
/// between the elements stay as they are.
template <typename Element, typename Source, typename Convert>
void store(const Source* source, std::byte* target, int64_t stride, int64_t count,
           Convert convert) {
  const Source* __restrict from = source;
  std::byte* __restrict to = target;
  const auto loop = [&](int64_t step) __attribute__((always_inline)) {
    for (int64_t i = 0; i < count; ++i) {
      const Element element = convert(from[i]);
      std::memcpy(to + i * step, &element, sizeof element);
    }
  };
  if (stride == static_cast<int64_t>(sizeof(Element))) {
    loop(sizeof(Element));
  } else {
    loop(stride);
  }
}

}  // namespace neuron_sim::elements
