#pragma once
// The bytes that a collective moves between the ranks of one group.

#include <array>
#include <span>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// One rank's side of a collective: its operands, with their storage.
struct CollectiveMember {
  int64_t rank = 0;
  std::array<Access, 4> operands{};  ///< by collective_operand
};

/// Computes the collective `type` (device/isa/dma/collective.h) with these attributes. `members`:
/// all ranks of a group, in its order. All sources are read before any destination is written.
/// Bytes depend on nothing else. KernelError (kIndex) when metadata leave a tensor, or senders and
/// receivers disagree.
void exchange(const InstructionType& type, std::span<const Attribute> attributes,
              std::span<const CollectiveMember> members);

}  // namespace neuron_sim
