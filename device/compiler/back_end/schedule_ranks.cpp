#include "device/compiler/back_end/schedule_ranks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "device/compiler/line/meetings.h"

namespace neuron_sim {
namespace {

/// The PSUM operand that a matrix product writes; null for everything else.
const StraightOperand* product_target(const StraightLine& line,
                                      const StraightInstruction& instance) {
  if (line.demands[instance.instruction.demand].multiply_accumulates == 0) return nullptr;
  const StraightOperand& target = line.operands_of(instance)[0];
  return target.memory == MemoryKind::kPsum && target.writes() ? &target : nullptr;
}

/// Accumulation groups: sums in PSUM that several products of one statement write, at least one of
/// them adding to it. A sum ends where another instruction touches its tile: tiles that are not
/// renamed hold one after the other.
void find_groups(const StraightLine& line, Ranks& ranks) {
  struct Sum {
    std::vector<uint32_t> products;
    bool adds = false;
  };
  std::map<std::tuple<uint32_t, TileId, int>, Sum> sums;
  std::map<TileId, int> ended;  // sums of the tile so far
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const StraightInstruction& instance = line.instructions[i];
    const StraightOperand* target = product_target(line, instance);
    for (const StraightOperand& operand : line.operands_of(instance)) {
      const bool other = operand.present() && &operand != target;
      if (other && operand.memory == MemoryKind::kPsum) ++ended[operand.tile];
    }
    if (target == nullptr) continue;
    Sum& sum = sums[{instance.statement, target->tile, ended[target->tile]}];
    sum.products.push_back(i);
    sum.adds = sum.adds || target->reads();
  }
  std::vector<const Sum*> ordered;
  for (const auto& [key, sum] : sums) {
    if (sum.adds && sum.products.size() > 1) ordered.push_back(&sum);
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const Sum* a, const Sum* b) { return a->products.front() < b->products.front(); });
  for (const Sum* sum : ordered) {
    const auto number = static_cast<int32_t>(ranks.group_sizes.size());
    for (const uint32_t product : sum->products) ranks.group[product] = number;
    ranks.group_sizes.push_back(static_cast<int32_t>(sum->products.size()));
  }
}

/// Reassigns the ranks of a statement's products group by group.
void rank_groups(const StraightLine& line, Ranks& ranks) {
  std::map<uint32_t, std::vector<uint32_t>> members;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (ranks.group[i] >= 0) members[line.instructions[i].statement].push_back(i);
  }
  for (const auto& [statement, products] : members) {
    std::vector<uint32_t> ordered = products;
    std::stable_sort(ordered.begin(), ordered.end(),
                     [&](uint32_t a, uint32_t b) { return ranks.group[a] < ranks.group[b]; });
    for (size_t i = 0; i < products.size(); ++i) ranks.rank[ordered[i]] = products[i];
  }
}

bool is_free_load(const StraightLine& line, const InstanceGraph& graph, uint32_t index) {
  const StraightInstruction& instance = line.instructions[index];
  const Demand& demand = line.demands[instance.instruction.demand];
  return is_transfer(line, instance) && !is_meeting(instance) && !demand.steps[0].store &&
         graph.waits[index] == 0;
}

void rank_loads(const StraightLine& line, const InstanceGraph& graph, Ranks& ranks) {
  std::vector<std::pair<int64_t, uint32_t>> loads;  // first successor, instance
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (!is_free_load(line, graph, i)) continue;
    int64_t first = std::numeric_limits<int64_t>::max();
    for (uint32_t s = graph.first_successor[i]; s < graph.first_successor[i + 1]; ++s) {
      first = std::min(first, ranks.rank[graph.successors[s]]);
    }
    loads.emplace_back(first, i);
  }
  std::sort(loads.begin(), loads.end());
  auto rank = -static_cast<int64_t>(loads.size());
  for (const auto& [first, load] : loads) ranks.rank[load] = rank++;
}

}  // namespace

Ranks rank_instances(const StraightLine& line, const InstanceGraph& graph,
                     const PassSettings& settings) {
  Ranks ranks;
  ranks.rank.resize(line.instructions.size());
  std::iota(ranks.rank.begin(), ranks.rank.end(), int64_t{0});
  ranks.group.assign(line.instructions.size(), -1);
  const bool has_psum = std::any_of(line.tiles.begin(), line.tiles.end(), [](const Tile& tile) {
    return tile.memory == MemoryKind::kPsum;
  });
  if (has_psum && settings["keep_groups_together"] != 0) {
    find_groups(line, ranks);
    rank_groups(line, ranks);
  }
  if (settings["hoist_loads"] != 0) rank_loads(line, graph, ranks);
  return ranks;
}

}  // namespace neuron_sim
