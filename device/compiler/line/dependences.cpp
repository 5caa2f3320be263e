#include "device/compiler/line/dependences.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/base/interruption.h"
#include "device/compiler/line/access_pattern.h"
#include "device/compiler/line/meetings.h"

namespace neuron_sim {
namespace {

constexpr int32_t kNoHistory = -1;
constexpr int32_t kOneWrite = -2;

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

/// The only write of a tile that nothing touches before.
struct OnlyWrite {
  uint32_t instance = UINT32_MAX;
  const StraightOperand* operand = nullptr;
};

/// Where the accesses of each tile are kept.
struct Histories {
  /// Per tile: one history for all placed tiles of a memory; kNoHistory for HBM tensors that are
  /// only read, or written so that no byte is written twice; kOneWrite for versions whose reads
  /// wait for their one write, as most do: that needs no history.
  std::vector<int32_t> of;
  std::vector<OnlyWrite> writes;  ///< per tile
  std::vector<bool> on_chip;      ///< per history
};

Histories number_histories(const StraightLine& line) {
  Histories result{std::vector<int32_t>(line.tiles.size(), kOneWrite),
                   std::vector<OnlyWrite>(line.tiles.size()),
                   {true, true}};
  std::vector<bool> read(line.tiles.size());
  std::vector<std::vector<Region>> writes(line.tiles.size());
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    for (const StraightOperand& operand : line.operands_of(line.instructions[i])) {
      if (!operand.present()) continue;
      const auto tile = static_cast<size_t>(operand.tile);
      if (operand.memory == MemoryKind::kHbm) {
        if (operand.reads()) read[tile] = true;
        if (operand.writes()) writes[tile].push_back(line.region_of(operand));
        continue;
      }
      OnlyWrite& write = result.writes[tile];
      const bool is_first = write.instance == UINT32_MAX || write.instance == i;
      if (is_first) write.instance = i;
      if (!operand.writes()) continue;
      if (!is_first || write.operand != nullptr) result.of[tile] = kNoHistory;
      write.operand = &operand;
    }
  }
  constexpr int32_t kPlacedSbuf = 0, kPlacedPsum = 1;
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    const Tile& tile = line.tiles[i];
    const bool hbm = tile.memory == MemoryKind::kHbm;
    if (tile.placed && !hbm) {
      result.of[i] = tile.memory == MemoryKind::kPsum ? kPlacedPsum : kPlacedSbuf;
    } else if (hbm && (writes[i].empty() || (!read[i] && are_disjoint(std::move(writes[i]))))) {
      result.of[i] = kNoHistory;
    } else if (hbm || result.of[i] == kNoHistory) {
      result.of[i] = static_cast<int32_t>(result.on_chip.size());
      result.on_chip.push_back(!hbm);
    }
  }
  return result;
}

/// What the meetings order.
std::vector<Edge> orders_of_meetings(const StraightLine& line) {
  std::vector<Edge> edges = meeting_edges(line);
  std::optional<uint32_t> last;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (!is_meeting(line.instructions[i])) continue;
    if (last) edges.push_back({i, *last});
    last = i;
  }
  return edges;
}

}  // namespace

InstanceWaits::InstanceWaits(GroupHistories histories, std::vector<Edge> edges)
    : histories_(std::move(histories)), edges_(std::move(edges)) {
  std::sort(edges_.begin(), edges_.end(),
            [](const Edge& a, const Edge& b) { return a.consumer < b.consumer; });
}

const std::vector<uint32_t>& InstanceWaits::complete() {
  poll_interruption();
  for (const Access& access : accesses_) {
    histories_.collect(access.history, access.region, access.reads, access.writes, sources_);
  }
  for (const Access& access : accesses_) {
    histories_.record(access.history, access.region, access.writes, instance_);
  }
  for (; edge_ < edges_.size() && edges_[edge_].consumer == instance_; ++edge_) {
    sources_.push_back(edges_[edge_].producer);
  }
  if (sources_.size() > 1) {
    std::sort(sources_.begin(), sources_.end());
    sources_.erase(std::unique(sources_.begin(), sources_.end()), sources_.end());
  }
  std::erase(sources_, instance_++);
  accesses_.clear();
  completed_.swap(sources_);
  sources_.clear();
  return completed_;
}

Dependences::Dependences(const StraightLine& line) : first_(line.instructions.size() + 1) {
  Histories histories = number_histories(line);
  InstanceWaits waits(GroupHistories(std::move(histories.on_chip)), orders_of_meetings(line));
  std::optional<uint32_t> collective;  // the last one
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    for (const StraightOperand& operand : line.operands_of(line.instructions[i])) {
      if (!operand.present()) continue;
      const int32_t history = histories.of[static_cast<size_t>(operand.tile)];
      if (history == kOneWrite) {
        const OnlyWrite& write = histories.writes[static_cast<size_t>(operand.tile)];
        const bool waits_for_it =
            write.operand != nullptr && write.instance != i &&
            (is_same_access(*write.operand, operand) ||
             overlap(line.region_of(*write.operand), line.region_of(operand)));
        if (waits_for_it) waits.wait_for(write.instance);
      }
      if (history < 0) continue;
      waits.access(static_cast<size_t>(history), line.region_of(operand), operand.reads(),
                   operand.writes());
    }
    if (is_collective(line.instructions[i])) {
      if (collective) waits.wait_for(*collective);
      collective = i;
    }
    const std::vector<uint32_t>& sources = waits.complete();
    sources_.insert(sources_.end(), sources.begin(), sources.end());
    first_[i + 1] = sources_.size();
  }
}

}  // namespace neuron_sim
