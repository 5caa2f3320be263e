#pragma once
// Which earlier instances an instance must wait for, however many there are: complete dependencies,
// for graphs.

#include <cstdint>
#include <map>
#include <vector>

#include "device/analysis/tile_history.h"
#include "device/operand/region.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Instances that must come first; a merged entry stands for all of its instances.
struct Instances {
  std::vector<uint32_t> ids;
  void merge(const Instances& other) { ids.insert(ids.end(), other.ids.begin(), other.ids.end()); }
};

/// The pending accesses of one hazard group on chip: the bytes of a partition in segments, which
/// end where an access does, so that a contiguous access covers whole segments and ends what was
/// pending there. In one bounded list per group (TileHistory) merged entries would accumulate
/// instances, all of which every later access would wait for.
class InstanceHistory {
 public:
  InstanceHistory() = default;
  InstanceHistory(InstanceHistory&&) = default;
  InstanceHistory& operator=(InstanceHistory&&) = default;
  /// Appends the instances that an access has to wait for; repeated where several segments have
  /// them.
  void collect(const Region& region, bool writes, std::vector<uint32_t>& ids) const;
  /// Adds the access of an instance; a write removes what it covers.
  void record(const Region& region, bool writes, uint32_t id);
  void clear() {
    segments_.clear();
    latest_ = nullptr;
  }

 private:
  struct Access {
    Region region;
    uint32_t id = 0;                    ///< usually the only one, stored without an allocation
    std::vector<uint32_t> others = {};  ///< instances that the entry stands for, too
  };
  struct Segment {
    int64_t end = 0;
    std::vector<Access> reads = {}, writes = {};
  };
  /// By first byte, without gaps between the first and the last.
  using Segments = std::map<int64_t, Segment>;

  /// The segment that spans exactly the bytes of an access, or null.
  Segment* segment_of(const Region& region) const;
  void record(Segment& segment, const Region& region, bool writes, uint32_t id);
  void cover(int64_t low, int64_t high);
  void split(int64_t byte);
  static void remove_covered(std::vector<Access>& accesses, const Region& region);
  static void add(std::vector<Access>& accesses, size_t maximum, const Region& region, uint32_t id);

  mutable Segments segments_;
  mutable Segments::value_type* latest_ = nullptr;  ///< most accesses have its bytes again
};

/// The histories of a program's hazard groups: InstanceHistory on chip, TileHistory in HBM, where
/// rows of many accesses interleave and segments would be too many.
class GroupHistories {
 public:
  /// `on_chip`: per group.
  explicit GroupHistories(std::vector<bool> on_chip);
  void collect(size_t group, const Region& region, bool reads, bool writes,
               std::vector<uint32_t>& ids) const;
  void record(size_t group, const Region& region, bool writes, uint32_t id);
  void clear();

 private:
  std::vector<bool> on_chip_;
  std::vector<InstanceHistory> segmented_;       ///< per group, unused for groups in HBM
  std::vector<TileHistory<Instances>> bounded_;  ///< per group, unused for groups on chip
};

/// The histories of all groups of a program, empty.
GroupHistories histories_of(const Program& program);

}  // namespace neuron_sim
