#pragma once
// The integers that iota writes and affine_select compares: affine in the indices of an element.

#include <array>
#include <span>
#include <vector>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// [[step, size], ...], outermost first, up to four: the vendor's form of a pattern.
using IndexPattern = std::vector<std::array<int64_t, 2>>;

/// offset + p * channel_multiplier + i0 * step0 + i1 * step1 + ... in 32-bit integer arithmetic,
/// which wraps. p counts from the first partition; i0, i1, ... are the indices of an element of a
/// partition within the sizes. These are independent of the shape of the tile, but their product is
/// its elements per partition. All numbers are int32.
class AffinePattern {
 public:
  /// First attributes of an instruction with a pattern, in this order.
  static constexpr AttributeField kFields[] = {
      {"offset", AttributeKind::kInteger}, {"channel_multiplier", AttributeKind::kInteger},
      {"step0", AttributeKind::kInteger},  {"size0", AttributeKind::kInteger},
      {"step1", AttributeKind::kInteger},  {"size1", AttributeKind::kInteger},
      {"step2", AttributeKind::kInteger},  {"size2", AttributeKind::kInteger},
      {"step3", AttributeKind::kInteger},  {"size3", AttributeKind::kInteger}};
  static constexpr int kCount = 10;

  /// These attributes; dimensions that are not given have size 1. KernelError when there are more
  /// than four.
  static std::vector<Attribute> attributes(std::string_view instruction,
                                           const IndexPattern& pattern, int64_t offset,
                                           int64_t channel_multiplier);
  explicit AffinePattern(std::span<const Attribute> attributes) : attributes_(attributes) {}

  /// Sizes of at least 1 whose product is the elements per partition of `view`; int32 numbers.
  void check(std::string_view instruction, std::string_view operand, const View& view) const;
  /// The part of the values that depends on i0, i1, ..., in row-major order.
  void fill(std::vector<int64_t>& values) const;
  /// The value of a partition's element, given its entry of fill().
  int32_t value(int64_t partition, int64_t of_element) const {
    const int64_t start = number(0) + partition * number(1);
    return static_cast<int32_t>(static_cast<uint32_t>(start + of_element));
  }

 private:
  int64_t number(size_t index) const { return attributes_[index].integer(); }
  int64_t step(size_t dimension) const { return number(2 + 2 * dimension); }
  int64_t size(size_t dimension) const { return number(3 + 2 * dimension); }
  int64_t elements() const;

  std::span<const Attribute> attributes_;
};

}  // namespace neuron_sim
