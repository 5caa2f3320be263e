#pragma once
// Which bytes two accesses share, without the widening of Region.

#include <optional>

#include "device/program/program.h"

namespace neuron_sim {

/// Bytes [begin, end) within a partition (on chip) or a tensor (HBM).
struct ByteRange {
  int64_t begin = 0, end = 0;
};

/// The first bytes that two accesses to one tile or tensor share; empty when there are none. Exact
/// for any pattern. The operands must not be indirect, nor addressed by a register.
std::optional<ByteRange> shared_bytes(const Operand& a, const Location& at_a, const Operand& b,
                                      const Location& at_b);

}  // namespace neuron_sim
