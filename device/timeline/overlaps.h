#pragma once
// Tiles that were placed by hand on bytes of other tiles, and the cost: accesses to shared
// bytes wait for each other although they belong to different tensors.

#include <string>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Tiles of a program that share bytes, and the cost.
struct OverlapReport {
  /// One entry per pair of tensors, by name: "a_tile and b_tile share bytes [4000, 16000) of sbuf".
  std::vector<std::string> tiles;
  /// Simulated body time minus the time of the same instructions with no shared bytes.
  Picoseconds lost{};
};

/// Pairs of on-chip tiles with common bytes of common partitions, at least one of them placed by
/// hand (Builder::place). Tiles that the builder allocated share bytes only one after the other.
/// Simulates the program twice if there are any; control that depends on data counts with its upper
/// bound.
OverlapReport report_overlaps(const Program& program);

}  // namespace neuron_sim
