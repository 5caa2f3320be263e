#pragma once
// Whether PSUM banks may be given away before their turn without ever running out of them.

#include <cstdint>
#include <vector>

#include "device/compiler/back_end/allocate.h"
#include "device/compiler/tiles/live_bytes.h"

namespace neuron_sim {

/// Banks that each instance finds taken if from some time on all run in program order. While no
/// instance finds more than there are, the program can always be finished: the first instance that
/// is not yet issued has its inputs, and banks for its outputs.
class BankForecast {
 public:
  /// Buffers with the instances that touch them and their banks, in program order.
  BankForecast(size_t instances, const std::vector<Lifetime>& buffers,
               const std::vector<int64_t>& banks, int64_t available)
      : instances_(instances), available_(available), taken_(instances) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      taken_.add(buffers[i].first, buffers[i].last, banks[i]);
    }
  }

  /// Whether the program order itself finds enough banks.
  bool is_possible() const { return taken_.largest(0, instances_ - 1) <= available_; }
  /// Whether a buffer whose turn is instance `first` may have `banks` now, while all instances
  /// before `issued` are issued.
  bool allows(int64_t banks, size_t first, size_t issued) const {
    return first <= issued || taken_.largest(issued, first - 1) + banks <= available_;
  }
  /// Gives the buffer its banks: the instances in between find them taken.
  void give(int64_t banks, size_t first, size_t issued) {
    if (first > issued) taken_.add(issued, first - 1, banks);
  }

 private:
  size_t instances_;
  int64_t available_;
  LiveBytes taken_;  // banks at each instance
};

}  // namespace neuron_sim
