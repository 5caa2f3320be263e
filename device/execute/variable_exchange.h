#pragma once
// Collectives whose sizes are in a tensor: all_gather_v and all_to_all_v.

#include <cstddef>
#include <vector>

#include "device/execute/collective_exchange.h"

namespace neuron_sim {

/// The elements of an operand in row-major order.
using DenseBuffer = std::vector<std::byte>;
DenseBuffer dense_bytes(const Access& access);
void store_dense(const DenseBuffer& bytes, const Access& access);

/// exchange() for the two; bytes of dst that nothing is received in stay as they are.
void exchange_variable(const InstructionType& type, std::span<const Attribute> attributes,
                       std::span<const CollectiveMember> members);

}  // namespace neuron_sim
