#pragma once
// nc_n_gather: elements that every partition takes from places of its own.

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst[p, i] = data[p, indices[p, i]], bit by bit, with all free dimensions flattened. indices is
/// uint32, each below the elements per partition of data (else an IndexError); dst has the dtype of
/// data and the partitions and elements of indices. GpSimd; SBUF. The call becomes one ISA
/// instruction per 512 elements of dst.
struct NcNGather {
  View dst, data, indices;

  Draft draft() const;
};

extern const InstructionType kNcNGather;

}  // namespace neuron_sim
