#pragma once
// get_nc_version: the generation of the NeuronCore.

#include <cstdint>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// The member of nki.isa.nc_version for an architecture: 2 (gen2, trn1 and inf2), 3 (gen3, trn2) or
/// 4 (gen4, trn3). KernelError for other generations, which a user's file may have.
int64_t get_nc_version(const Architecture& architecture);

}  // namespace neuron_sim
