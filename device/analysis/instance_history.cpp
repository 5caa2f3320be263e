#include "device/analysis/instance_history.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// Accesses of one segment kept separately: contiguous ones differ only in their partitions.
constexpr size_t kMaximumReads = 12;
constexpr size_t kMaximumWrites = 64;

/// Whether `outer` has all partitions of `inner`.
inline bool within_partitions(const Region& inner, const Region& outer) {
  return outer.partition <= inner.partition &&
         inner.partition + inner.partitions <= outer.partition + outer.partitions;
}

inline bool is_contiguous(const Region& region) { return region.count == 1 && region.exact; }

}  // namespace

void InstanceHistory::collect(const Region& region, bool writes, std::vector<uint32_t>& ids) const {
  const auto collect_from = [&](const std::vector<Access>& accesses) {
    for (const Access& access : accesses) {
      if (!overlap(access.region, region)) continue;
      ids.push_back(access.id);
      ids.insert(ids.end(), access.others.begin(), access.others.end());
    }
  };
  if (const Segment* exact = segment_of(region)) {
    collect_from(exact->writes);
    if (writes) collect_from(exact->reads);
    return;
  }
  auto segment = segments_.upper_bound(region.low);
  if (segment != segments_.begin()) --segment;
  for (; segment != segments_.end() && segment->first < region.high(); ++segment) {
    if (segment->second.end <= region.low) continue;
    collect_from(segment->second.writes);
    if (writes) collect_from(segment->second.reads);
  }
}

InstanceHistory::Segment* InstanceHistory::segment_of(const Region& region) const {
  const int64_t high = region.high();
  if (latest_ == nullptr || latest_->first != region.low || latest_->second.end != high) {
    const auto segment = segments_.find(region.low);
    if (segment == segments_.end() || segment->second.end != high) return nullptr;
    latest_ = &*segment;
  }
  return &latest_->second;
}

/// Makes segments cover all bytes from low to high, split at both ends.
void InstanceHistory::cover(int64_t low, int64_t high) {
  if (segments_.empty()) {
    segments_[low].end = high;
    return;
  }
  const int64_t first = segments_.begin()->first;
  const int64_t last = segments_.rbegin()->second.end;
  if (low < first) segments_[low].end = first;
  if (high > last) segments_[last].end = high;
  split(low);
  split(high);
}

/// Makes a segment begin at `byte` if the bytes before and after it have segments.
void InstanceHistory::split(int64_t byte) {
  auto segment = segments_.upper_bound(byte);
  if (segment == segments_.begin()) return;
  --segment;
  if (segment->first == byte || segment->second.end <= byte) return;
  Segment upper = segment->second;
  segment->second.end = byte;
  segments_.emplace(byte, std::move(upper));
}

/// Removes the accesses of a segment that a write of `region` covers: a contiguous one covers the
/// whole segment.
void InstanceHistory::remove_covered(std::vector<Access>& accesses, const Region& region) {
  std::erase_if(accesses, [&](const Access& access) {
    return is_contiguous(region) ? within_partitions(access.region, region)
                                 : covers(region, access.region);
  });
}

void InstanceHistory::add(std::vector<Access>& accesses, size_t maximum, const Region& region,
                          uint32_t id) {
  if (accesses.size() >= maximum) {
    Access& first = accesses[0];
    const Access& second = accesses[1];
    first.region = bounding(first.region, second.region);
    first.others.push_back(second.id);
    first.others.insert(first.others.end(), second.others.begin(), second.others.end());
    accesses.erase(accesses.begin() + 1);
  }
  accesses.push_back({region, id});
}

void InstanceHistory::record(const Region& region, bool writes, uint32_t id) {
  if (Segment* exact = segment_of(region)) return record(*exact, region, writes, id);
  const int64_t high = region.high();
  cover(region.low, high);
  for (auto segment = segments_.find(region.low);
       segment != segments_.end() && segment->first < high; ++segment) {
    record(segment->second, region, writes, id);
  }
}

void InstanceHistory::record(Segment& segment, const Region& region, bool writes, uint32_t id) {
  if (writes) {
    if (!segment.writes.empty()) remove_covered(segment.writes, region);
    if (!segment.reads.empty()) remove_covered(segment.reads, region);
    return add(segment.writes, kMaximumWrites, region, id);
  }
  const auto same =
      std::find_if(segment.reads.begin(), segment.reads.end(), [&](const Access& read) {
        const bool around = is_contiguous(read.region) && within_partitions(region, read.region);
        return around || read.region == region;
      });
  if (same == segment.reads.end()) {
    add(segment.reads, kMaximumReads, region, id);
  } else {
    same->others.push_back(id);
  }
}

GroupHistories::GroupHistories(std::vector<bool> on_chip)
    : on_chip_(std::move(on_chip)), segmented_(on_chip_.size()), bounded_(on_chip_.size()) {}

void GroupHistories::collect(size_t group, const Region& region, bool reads, bool writes,
                             std::vector<uint32_t>& ids) const {
  if (on_chip_[group]) return segmented_[group].collect(region, writes, ids);
  bounded_[group].collect(region, reads, writes, [&](const HistoryEntry<Instances>& entry, bool) {
    ids.insert(ids.end(), entry.stamp.ids.begin(), entry.stamp.ids.end());
  });
}

void GroupHistories::record(size_t group, const Region& region, bool writes, uint32_t id) {
  if (on_chip_[group]) return segmented_[group].record(region, writes, id);
  bounded_[group].record(region, writes, 0, {{id}});
}

void GroupHistories::clear() {
  for (InstanceHistory& history : segmented_) history.clear();
  for (TileHistory<Instances>& history : bounded_) history.clear();
}

GroupHistories histories_of(const Program& program) {
  std::vector<bool> on_chip(static_cast<size_t>(program.hazard_groups));
  for (const Tile& tile : program.tiles) {
    if (tile.hazard_group < 0) continue;
    on_chip[static_cast<size_t>(tile.hazard_group)] = tile.memory != MemoryKind::kHbm;
  }
  return GroupHistories(std::move(on_chip));
}

}  // namespace neuron_sim
