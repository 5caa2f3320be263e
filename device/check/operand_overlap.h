#pragma once
// Instructions that read bytes which they also write, in another order.

#include <optional>

#include "device/program/program.h"
#include "device/program/shared_bytes.h"

namespace neuron_sim {

/// Whether a source of an instruction can overlap its destination in a way that matters: both have
/// as many elements, in tiles that can be the same.
bool may_overlap(const Operand& dst, const Operand& src);

/// The first bytes that both have although some element of `src` does not lie where the same
/// element of `dst` does; nothing when they share no byte or are the same access.
std::optional<ByteRange> partial_overlap(const Program& program, const Operand& dst,
                                         const Location& at_dst, const Operand& src,
                                         const Location& at_src);

/// The first bytes that an operand in HBM has more than once.
std::optional<ByteRange> repeated_bytes(const Operand& operand);

}  // namespace neuron_sim
