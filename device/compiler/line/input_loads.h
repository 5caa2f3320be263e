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

/// Where in the program order instances start for their results to be there in time, by the
/// compiler's own costs: as long before as a transfer takes, while the busiest engine works.
class IssuePositions {
 public:
  explicit IssuePositions(const StraightLine& line);
  /// The last instance before which a transfer can start to end before its place in the program
  /// order; the first one for those that cannot.
  uint32_t of(uint32_t transfer) const;

 private:
  const StraightLine& line_;
  std::vector<Picoseconds> elapsed_;  ///< before each instance
};

}  // namespace neuron_sim
