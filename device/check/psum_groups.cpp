#include "device/check/psum_groups.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// How a pattern of the same bytes is told from others: by its bounds and partitions.
bool same_place(const Region& a, const Region& b) {
  return a.low == b.low && a.high() == b.high() && a.partition == b.partition &&
         a.partitions == b.partitions;
}

bool share_partitions(const Region& a, const Region& b) {
  return a.partition < b.partition + b.partitions && b.partition < a.partition + a.partitions;
}

}  // namespace

PsumGroups::PsumGroups(const Program& program)
    : bank_bytes_(program.architecture->limits.psum_bank.count),
      any_bank_(program.architecture->limits.moving_free * itemsize(Dtype::kFloat32) >
                bank_bytes_) {}

std::vector<PsumGroups::Group>& PsumGroups::groups(uint8_t core, const Region& region) {
  return banks_[{core, region.low / bank_bytes_}];
}

std::optional<std::pair<int64_t, int64_t>> PsumGroups::crossing(const Region& region) const {
  const int64_t first = region.low / bank_bytes_, last = (region.high() - 1) / bank_bytes_;
  if (first == last || any_bank_) return {};
  return std::pair(first, last);
}

std::optional<PsumGroups::Fault> PsumGroups::end_groups(std::vector<Group>& open, TileId tile,
                                                        const Region& region) {
  std::optional<Fault> fault;
  std::erase_if(open, [&](const Group& group) {
    if (!overlap(group.region, region)) return false;
    if (!group.read_by && group.tile == tile) fault = Fault{Fault::Kind::kLost, group.last};
    return true;
  });
  return fault;
}

std::optional<PsumGroups::Fault> PsumGroups::product(uint32_t instruction, uint8_t core,
                                                     TileId tile, const Region& region, bool adds) {
  std::vector<Group>& open = groups(core, region);
  std::optional<Fault> fault;
  if (!adds) {
    fault = end_groups(open, tile, region);
    const bool on_zeros = takes_zeros(core, region);
    for (Group& group : open) {
      if (!on_zeros && share_partitions(group.region, region)) group.interrupted_by = instruction;
    }
    open.push_back({region, tile, instruction, {}, {}});
    return fault;
  }
  const auto found = std::find_if(open.begin(), open.end(), [&](const Group& group) {
    return same_place(group.region, region) || covers(group.region, region);
  });
  if (found == open.end()) return {};
  found->last = instruction;
  if (found->read_by) fault = Fault{Fault::Kind::kReadBefore, *found->read_by};
  if (found->interrupted_by) fault = Fault{Fault::Kind::kInterleaved, *found->interrupted_by};
  if (fault) open.erase(found);  // it is named once
  return fault;
}

void PsumGroups::read(uint32_t instruction, uint8_t core, const Region& region) {
  each_bank(core, region, [&](std::vector<Group>& open) {
    for (Group& group : open) {
      if (overlap(group.region, region)) group.read_by = instruction;
    }
  });
}

std::optional<PsumGroups::Fault> PsumGroups::overwrite(uint8_t core, TileId tile,
                                                       const Region& region) {
  std::optional<Fault> fault;
  std::erase_if(zeros_, [&](const Zeros& entry) {
    return entry.core == core && overlap(entry.region, region);
  });
  each_bank(core, region, [&](std::vector<Group>& open) {
    if (const auto lost = end_groups(open, tile, region)) fault = lost;
  });
  return fault;
}

void PsumGroups::zeroed(uint8_t core, const Region& region) {
  zeros_.push_back({core, region, {}});
}

bool PsumGroups::takes_zeros(uint8_t core, const Region& region) {
  const auto zeros = std::ranges::find_if(zeros_, [&](const Zeros& entry) {
    return entry.core == core && covers(entry.region, region);
  });
  if (zeros == zeros_.end()) return false;
  const auto meets = [&](const Region& other) { return overlap(other, region); };
  if (std::ranges::any_of(zeros->taken, meets)) return false;
  zeros->taken.push_back(region);
  return true;
}

}  // namespace neuron_sim
