#pragma once
// Which instances of a straight line must come before which.

#include <cstdint>
#include <span>
#include <vector>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Direct predecessors of every instance: those that wrote bytes it accesses, those that read
/// bytes it writes, and what the meetings with another core order (meetings.h), among them the
/// meeting before each meeting; of a collective also the one before it, because ranks meet in
/// program order. Needs single-assignment versions (rename_buffers.h): tiles on chip share no
/// bytes, except `placed` ones. Conservative beyond the bounds of TileHistory.
class Dependences {
 public:
  explicit Dependences(const StraightLine& line);
  /// Instances before this one in program order, ascending.
  std::span<const uint32_t> of(uint32_t instance) const {
    return {sources_.data() + first_[instance], sources_.data() + first_[instance + 1]};
  }

 private:
  std::vector<size_t> first_;
  std::vector<uint32_t> sources_;
};

}  // namespace neuron_sim
