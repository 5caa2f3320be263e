#pragma once
// Whether PSUM banks may be given away before their turn without ever running out of them.

#include <cstdint>
#include <vector>

#include "device/compiler/back_end/allocate.h"

namespace neuron_sim {

/// Banks that every instance finds taken if from some time on all go in program order. While no
/// instance finds more than there are, the program can always be finished: the first instance that
/// is not issued yet has its results, and banks for what it writes.
class BankForecast {
 public:
  /// Buffers with the instances that touch them and their banks, in program order.
  BankForecast(size_t instances, const std::vector<Lifetime>& buffers,
               const std::vector<int64_t>& banks, int64_t available);

  /// Whether the program order itself finds enough banks.
  bool is_possible() const { return highest(0, size_ - 1) <= available_; }
  /// Whether a buffer whose turn is instance `first` may have `banks` now, while all instances
  /// before `issued` are issued.
  bool allows(int64_t banks, size_t first, size_t issued) const {
    return first <= issued || highest(issued, first - 1) + banks <= available_;
  }
  /// The buffer has them: the instances in between find them taken.
  void give(int64_t banks, size_t first, size_t issued) {
    if (first > issued) add(issued, first - 1, banks);
  }

 private:
  int64_t highest(size_t first, size_t last) const;
  void add(size_t first, size_t last, int64_t banks);
  void add(size_t node, size_t low, size_t high, size_t first, size_t last, int64_t banks);
  int64_t highest(size_t node, size_t low, size_t high, size_t first, size_t last) const;

  size_t size_ = 1;  // leaves of a segment tree over the instances
  int64_t available_;
  std::vector<int64_t> added_, highest_;  // per node: to all below it, and the most below it
};

}  // namespace neuron_sim
