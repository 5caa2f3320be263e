#pragma once
// get_nc_sub_version: the revision of the silicon.

#include <cstdint>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// The silicon revision of an architecture: 1 with features.sub_version_1, else 0. Published
/// kernels check for 1 on gen4 before they use exponential, so trn3 is modelled as that revision
/// (assumed).
int64_t get_nc_sub_version(const Architecture& architecture);

}  // namespace neuron_sim
