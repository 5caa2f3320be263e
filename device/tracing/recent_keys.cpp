#include "device/tracing/recent_keys.h"

#include <algorithm>

#include "device/base/hash.h"

namespace neuron_sim::tracing {

bool PartKey::append(const IndexExpression& expression) {
  const auto append_all = [this](const Sizes& sizes) {
    return append(static_cast<int64_t>(sizes.size())) &&
           std::all_of(sizes.begin(), sizes.end(), [this](int64_t size) { return append(size); });
  };
  const auto& terms = expression.position.terms;
  return append(expression.position.constant) && append(static_cast<int64_t>(terms.size())) &&
         std::all_of(terms.begin(), terms.end(),
                     [this](const Term& term) {
                       return append_address(term.loop) && append(term.coefficient);
                     }) &&
         append_all(expression.shape) && append_all(expression.steps);
}

uint64_t PartKey::hash() const {
  uint64_t hash = 0;
  for (size_t i = 0; i < count_; ++i) {
    hash += static_cast<uint64_t>(numbers_[i]) * (kHashFactor * (2 * i + 1));
  }
  return hash;
}

size_t RecentKeys::set_of(const PartKey& key) { return index_of(key.hash(), kSets); }

std::optional<size_t> RecentKeys::find(const PartKey& key) const {
  const size_t first = set_of(key) * kPlaces;
  for (size_t place = first; place < first + kPlaces; ++place) {
    if (std::ranges::equal(keys_[place], key.numbers())) return place;
  }
  return {};
}

size_t RecentKeys::keep(const PartKey& key) {
  const size_t set = set_of(key);
  const size_t place = set * kPlaces + next_[set];
  next_[set] = static_cast<uint8_t>((next_[set] + 1) % kPlaces);
  keys_[place].assign(key.numbers().begin(), key.numbers().end());
  return place;
}

}  // namespace neuron_sim::tracing
