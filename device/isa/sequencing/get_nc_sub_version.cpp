#include "device/isa/sequencing/get_nc_sub_version.h"

namespace neuron_sim {

int64_t get_nc_sub_version(const Architecture& architecture) {
  return architecture.features.sub_version_1 ? 1 : 0;
}

}  // namespace neuron_sim
