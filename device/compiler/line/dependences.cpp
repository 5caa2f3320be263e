#include "device/compiler/line/dependences.h"

#include <algorithm>
#include <optional>

#include "device/analysis/instance_history.h"
#include "device/base/interruption.h"
#include "device/compiler/line/meetings.h"

namespace neuron_sim {
namespace {

constexpr int32_t kNoHistory = -1;

/// Whether no two writes may share a byte.
bool are_disjoint(std::vector<Region> writes) {
  std::sort(writes.begin(), writes.end(),
            [](const Region& a, const Region& b) { return a.low < b.low; });
  for (size_t i = 0; i < writes.size(); ++i) {
    for (size_t j = i + 1; j < writes.size() && writes[j].low < writes[i].high(); ++j) {
      if (overlap(writes[i], writes[j])) return false;
    }
  }
  return true;
}

/// The history that each tile's accesses are kept in: one for all placed tiles of a memory, none
/// for HBM tensors that are only read, or written so that no byte is written twice.
std::vector<int32_t> number_histories(const StraightLine& line) {
  std::vector<bool> read(line.tiles.size());
  std::vector<std::vector<Region>> writes(line.tiles.size());
  for (const StraightInstruction& instance : line.instructions) {
    for (const Operand& operand : line.operands_of(instance)) {
      if (operand.memory != MemoryKind::kHbm) continue;
      const auto tile = static_cast<size_t>(operand.tile);
      if (operand.reads()) read[tile] = true;
      if (operand.writes()) writes[tile].push_back(operand.region);
    }
  }
  constexpr int32_t kPlacedSbuf = 0, kPlacedPsum = 1;
  int32_t next = 2;
  std::vector<int32_t> histories(line.tiles.size(), kNoHistory);
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    const Tile& tile = line.tiles[i];
    if (tile.placed && tile.memory != MemoryKind::kHbm) {
      histories[i] = tile.memory == MemoryKind::kPsum ? kPlacedPsum : kPlacedSbuf;
    } else if (tile.memory != MemoryKind::kHbm ||
               (!writes[i].empty() && (read[i] || !are_disjoint(std::move(writes[i]))))) {
      histories[i] = next++;
    }
  }
  return histories;
}

/// What the meetings order, by consumer.
std::vector<Edge> orders_of_meetings(const StraightLine& line) {
  std::vector<Edge> edges = meeting_edges(line);
  std::optional<uint32_t> last;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (!is_meeting(line.instructions[i])) continue;
    if (last) edges.push_back({i, *last});
    last = i;
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.consumer < b.consumer; });
  return edges;
}

}  // namespace

Dependences::Dependences(const StraightLine& line) : first_(line.instructions.size() + 1) {
  const std::vector<int32_t> histories = number_histories(line);
  std::vector<bool> on_chip(line.tiles.size() + 2, true);
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    if (line.tiles[i].memory != MemoryKind::kHbm || histories[i] == kNoHistory) continue;
    on_chip[static_cast<size_t>(histories[i])] = false;
  }
  GroupHistories accesses(std::move(on_chip));
  const std::vector<Edge> orders = orders_of_meetings(line);
  auto order = orders.begin();
  std::vector<uint32_t> sources;
  std::optional<uint32_t> collective;  // the last one
  const auto history_of = [&](const Operand& operand) {
    return operand.present() ? histories[static_cast<size_t>(operand.tile)] : kNoHistory;
  };
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    poll_interruption();
    sources.clear();
    for (const Operand& operand : line.operands_of(line.instructions[i])) {
      const int32_t history = history_of(operand);
      if (history == kNoHistory) continue;
      accesses.collect(static_cast<size_t>(history), operand.region, operand.reads(),
                       operand.writes(), sources);
    }
    for (const Operand& operand : line.operands_of(line.instructions[i])) {
      const int32_t history = history_of(operand);
      if (history == kNoHistory) continue;
      accesses.record(static_cast<size_t>(history), operand.region, operand.writes(), i);
    }
    for (; order != orders.end() && order->consumer == i; ++order) {
      sources.push_back(order->producer);
    }
    if (is_collective(line.instructions[i])) {
      if (collective) sources.push_back(*collective);
      collective = i;
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    sources_.insert(sources_.end(), sources.begin(), sources.end());
    first_[i + 1] = sources_.size();
  }
}

}  // namespace neuron_sim
