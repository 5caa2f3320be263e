#pragma once
// Loads of what the program does not change, and when they are issued.

#include <cstdint>
#include <vector>

#include "device/base/units.h"
#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// The instances, in program order, that load to SBUF from tensors that nothing writes, and bytes
/// that the other core does not write.
std::vector<uint32_t> input_loads(const StraightLine& line);

/// Where in program order transfers must be issued to complete in time. Both the transfer and the
/// work of the busiest engine in the meantime are timed by the compiler's own costs.
class IssuePositions {
 public:
  explicit IssuePositions(const StraightLine& line);
  /// The last instance before which a transfer can be issued and still complete by its own
  /// position; the first instance if no such position exists.
  uint32_t of(uint32_t transfer) const;

 private:
  const StraightLine& line_;
  std::vector<Picoseconds> elapsed_;  ///< before each instance
};

}  // namespace neuron_sim
