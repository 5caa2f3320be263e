#include "device/compiler/line/meetings.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace neuron_sim {

void PeerAccesses::add(const Operand& operand) {
  std::vector<Access>& accesses = accesses_[static_cast<size_t>(operand.tile)];
  const bool again = !accesses.empty() && accesses.back().region == operand.region &&
                     accesses.back().writes == operand.writes();
  if (!again) accesses.push_back({operand.region, operand.writes()});
}

void PeerAccesses::seal(const std::vector<bool>& written) {
  for (size_t tile = 0; tile < accesses_.size(); ++tile) {
    std::vector<Access>& accesses = accesses_[tile];
    const bool matters =
        written[tile] || std::any_of(accesses.begin(), accesses.end(),
                                     [](const Access& each) { return each.writes; });
    if (!matters) accesses = {};
    const auto key = [](const Access& each) {
      const Region& region = each.region;
      return std::tuple(region.low, region.run, region.stride, region.count, region.partition,
                        region.partitions, region.exact, each.writes);
    };
    std::sort(accesses.begin(), accesses.end(),
              [&](const Access& a, const Access& b) { return key(a) < key(b); });
    const auto same = [&](const Access& a, const Access& b) { return key(a) == key(b); };
    accesses.erase(std::unique(accesses.begin(), accesses.end(), same), accesses.end());
    for (const Access& each : accesses) {
      longest_[tile] = std::max(longest_[tile], each.region.high() - each.region.low);
    }
  }
}

bool PeerAccesses::conflict_with(const Operand& operand) const {
  const auto tile = static_cast<size_t>(operand.tile);
  if (operand.memory != MemoryKind::kHbm || tile >= accesses_.size()) return false;
  const std::vector<Access>& accesses = accesses_[tile];
  const int64_t lowest = operand.region.low - longest_[tile];
  auto each = std::partition_point(accesses.begin(), accesses.end(), [&](const Access& access) {
    return access.region.low < lowest;
  });
  for (; each != accesses.end() && each->region.low < operand.region.high(); ++each) {
    if (!each->writes && !operand.writes()) continue;
    if (overlap(each->region, operand.region)) return true;
  }
  return false;
}

bool conflicts_with_peer(const StraightLine& line, const StraightOperand& operand) {
  return line.peer != nullptr && operand.present() && line.peer->conflict_with(line.whole(operand));
}

bool conflicts_with_peer(const StraightLine& line, const StraightInstruction& instance) {
  if (line.peer == nullptr || is_meeting(instance)) return false;
  const auto operands = line.operands_of(instance);
  return std::any_of(operands.begin(), operands.end(), [&](const StraightOperand& operand) {
    return conflicts_with_peer(line, operand);
  });
}

std::vector<Edge> meeting_edges(const StraightLine& line) {
  std::vector<Edge> edges;
  if (line.peer == nullptr) return edges;
  std::optional<uint32_t> last;
  std::vector<uint32_t> since;  // conflicting accesses since the last meeting
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (is_meeting(line.instructions[i])) {
      for (const uint32_t access : since) edges.push_back({i, access});
      since.clear();
      last = i;
    } else if (conflicts_with_peer(line, line.instructions[i])) {
      if (last) edges.push_back({i, *last});
      since.push_back(i);
    }
  }
  return edges;
}

bool follows_from_operands(const StraightLine& line, const Edge& edge) {
  const auto consumed = line.operands_of(line.instructions[edge.consumer]);
  const auto produced = line.operands_of(line.instructions[edge.producer]);
  const auto meets = [&](const StraightOperand& a) {
    return a.memory == MemoryKind::kHbm &&
           std::any_of(produced.begin(), produced.end(), [&](const StraightOperand& b) {
             return b.present() && a.tile == b.tile &&
                    overlap(line.region_of(a), line.region_of(b));
           });
  };
  return std::any_of(consumed.begin(), consumed.end(), meets);
}

}  // namespace neuron_sim
