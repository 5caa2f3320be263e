#include "device/compiler/back_end/bank_forecast.h"

#include <algorithm>

namespace neuron_sim {

BankForecast::BankForecast(size_t instances, const std::vector<Lifetime>& buffers,
                           const std::vector<int64_t>& banks, int64_t available)
    : available_(available) {
  while (size_ < instances) size_ *= 2;
  added_.resize(2 * size_);
  highest_.resize(2 * size_);
  for (size_t i = 0; i < buffers.size(); ++i) add(buffers[i].first, buffers[i].last, banks[i]);
}

int64_t BankForecast::highest(size_t first, size_t last) const {
  return highest(1, 0, size_ - 1, first, last);
}

void BankForecast::add(size_t first, size_t last, int64_t banks) {
  add(1, 0, size_ - 1, first, last, banks);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, at most 18 levels
void BankForecast::add(size_t node, size_t low, size_t high, size_t first, size_t last,
                       int64_t banks) {
  if (last < low || high < first) return;
  if (first <= low && high <= last) {
    added_[node] += banks;
    highest_[node] += banks;
    return;
  }
  const size_t middle = (low + high) / 2;
  add(2 * node, low, middle, first, last, banks);
  add(2 * node + 1, middle + 1, high, first, last, banks);
  highest_[node] = added_[node] + std::max(highest_[2 * node], highest_[2 * node + 1]);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, at most 18 levels
int64_t BankForecast::highest(size_t node, size_t low, size_t high, size_t first,
                              size_t last) const {
  if (last < low || high < first) return 0;
  if (first <= low && high <= last) return highest_[node];
  const size_t middle = (low + high) / 2;
  return added_[node] + std::max(highest(2 * node, low, middle, first, last),
                                 highest(2 * node + 1, middle + 1, high, first, last));
}

}  // namespace neuron_sim
