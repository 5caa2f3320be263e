#pragma once
// Loops over elements in memory: contiguous ones, which the compiler vectorises, and strided ones.
// Internal to device/numerics.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace neuron_sim::elements {

/// One loop of load: a constant `step` lets the compiler vectorise it.
template <typename Element, typename Target, typename Convert>
inline __attribute__((always_inline)) void load_loop(const std::byte* __restrict source,
                                                     int64_t step, Target* __restrict target,
                                                     int64_t count, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    Element element;
    std::memcpy(&element, source + i * step, sizeof element);
    target[i] = convert(element);
  }
}

/// One loop of store.
template <typename Element, typename Source, typename Convert>
inline __attribute__((always_inline)) void store_loop(const Source* __restrict source,
                                                      std::byte* __restrict target, int64_t step,
                                                      int64_t count, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    const Element element = convert(source[i]);
    std::memcpy(target + i * step, &element, sizeof element);
  }
}

/// target[i] = convert(element i), elements being `stride` bytes apart, without alignment.
/// Source and target must not overlap.
template <typename Element, typename Target, typename Convert>
void load(const std::byte* source, int64_t stride, Target* target, int64_t count, Convert convert) {
  if (stride == static_cast<int64_t>(sizeof(Element))) {
    load_loop<Element>(source, sizeof(Element), target, count, convert);
  } else {
    load_loop<Element>(source, stride, target, count, convert);
  }
}

/// Element i = convert(source[i]), elements being `stride` bytes apart, without alignment. Bytes
/// between the elements are unchanged. Source and target must not overlap.
template <typename Element, typename Source, typename Convert>
void store(const Source* source, std::byte* target, int64_t stride, int64_t count,
           Convert convert) {
  if (stride == static_cast<int64_t>(sizeof(Element))) {
    store_loop<Element>(source, target, sizeof(Element), count, convert);
  } else {
    store_loop<Element>(source, target, stride, count, convert);
  }
}

}  // namespace neuron_sim::elements
