#pragma once
// Which parts of tensors a trace made not long ago: keys of numbers, each with a place in which
// the owner keeps what the key names.

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "device/tracing/index_expression.h"

namespace neuron_sim::tracing {

/// Numbers that select a part of a tensor.
class PartKey {
 public:
  static constexpr size_t kCapacity = 64;

  /// False when the key is full. Inline: it runs dozens of times per traced instruction.
  bool append(int64_t number) {
    if (count_ == numbers_.size()) return false;
    numbers_[count_++] = number;
    return true;
  }
  bool append_address(const void* address) {
    return append(static_cast<int64_t>(reinterpret_cast<intptr_t>(address)));
  }
  /// All that makes an expression another one: its loops by their addresses.
  bool append(const IndexExpression& expression);
  std::span<const int64_t> numbers() const { return {numbers_.data(), count_}; }
  uint64_t hash() const;

 private:
  size_t count_ = 0;
  std::array<int64_t, kCapacity> numbers_;
};

/// The latest kPlaces keys of each of kSets sets, which the hash of a key chooses.
class RecentKeys {
 public:
  static constexpr size_t kSets = 32, kPlaces = 4, kCount = kSets * kPlaces;

  /// The place of a key that was kept; nothing for one that is unknown or was replaced.
  std::optional<size_t> find(const PartKey& key) const;
  /// Keeps a key that find() does not know, in the place of the oldest of its set.
  size_t keep(const PartKey& key);

 private:
  static size_t set_of(const PartKey& key);

  std::array<std::vector<int64_t>, kCount> keys_;
  std::array<uint8_t, kSets> next_{};  ///< the oldest place of each set
};

}  // namespace neuron_sim::tracing
