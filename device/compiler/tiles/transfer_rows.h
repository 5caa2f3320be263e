#pragma once
// Transfers between tiles and tensors in HBM as rows: one per partition, each without gaps.

#include <cstdint>
#include <optional>
#include <vector>

#include "device/compiler/line/access_pattern.h"
#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// The free dimensions of an operand without those of size 1, neighbours merged.
struct MergedPattern {
  std::vector<Dimension> dimensions;
  explicit MergedPattern(const Operand& operand) : dimensions(merged_dimensions(operand)) {}

  int64_t elements() const;
  bool is_run(int64_t itemsize) const;
  /// Keeps elements [first, first + count) of the row-major order and returns their first byte, or
  /// -1 when they are no pattern.
  int64_t cut(int64_t first, int64_t count);
};

/// Elements [first, first + count) of the row-major order of a tile's operand, in its first
/// `partitions`; empty when they are no pattern.
std::optional<Operand> cut(const StraightLine& line, const Operand& chip, int64_t first,
                           int64_t count, int32_t partitions);

/// A transfer between a tile and rows of a tensor, or the part of one that makes one run of each
/// row: of a tile with several images, one of them.
struct TransferRows {
  uint32_t instance;
  Operand chip, hbm;

  int64_t begin() const { return hbm.offset; }
  int64_t end() const { return hbm.offset + MergedPattern(hbm).elements() * itemsize(hbm.dtype); }
  /// Whether partition p of both has the same rows, of which `other` may have fewer.
  bool same_rows(const TransferRows& other) const;
};

/// Most runs of a transfer that count as rows.
inline constexpr int64_t kTransferRuns = 64;

/// Instance `i` as rows, run after run; empty when it is no such transfer.
std::vector<TransferRows> rows_of(const StraightLine& line, uint32_t i);

/// The copies between tiles as fewer: one where all of them have the same sizes and lie at equal
/// distances in the same two tiles.
std::vector<StraightInstruction> merged_copies(StraightLine& line,
                                               std::vector<StraightInstruction> copies);

}  // namespace neuron_sim
