#pragma once
// Which instances of a straight line must come before which.

#include <cstdint>
#include <span>
#include <vector>

#include "device/analysis/instance_history.h"
#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// What instances wait for, one after the other: what their accesses collide with in histories, and
/// the producers of the edges that they consume.
class InstanceWaits {
 public:
  /// `edges`: of positions in the line, in any order.
  InstanceWaits(GroupHistories histories, std::vector<Edge> edges);
  /// An access of the present instance.
  void access(size_t history, const Region& region, bool reads, bool writes) {
    accesses_.push_back({history, region, reads, writes});
  }
  /// Another instance that the present one waits for.
  void wait_for(uint32_t instance) { sources_.push_back(instance); }
  /// All that the present instance waits for, ascending, until the next call; the one after it is
  /// the present one from now on.
  const std::vector<uint32_t>& complete();

 private:
  struct Access {
    size_t history;
    Region region;
    bool reads, writes;
  };
  GroupHistories histories_;
  std::vector<Edge> edges_;  ///< by consumer
  size_t edge_ = 0;
  uint32_t instance_ = 0;
  std::vector<Access> accesses_;
  std::vector<uint32_t> sources_, completed_;
};

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
