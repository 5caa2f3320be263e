#include "device/isa/sequencing/get_nc_version.h"

#include "device/base/errors.h"

namespace neuron_sim {

int64_t get_nc_version(const Architecture& architecture) {
  constexpr int64_t kFirst = 2;
  if (architecture.generation < kFirst) {
    fail(text("'get_nc_version' has no member for generation ", architecture.generation,
              " of architecture ", architecture.name, "; nc_version begins with gen", kFirst, "."),
         ErrorKind::kNotImplemented);
  }
  return architecture.generation;
}

}  // namespace neuron_sim
