#include "csrc/runtime/errors.h"

#include <c10/util/Exception.h>

namespace neuron_sim {

void throw_torch_error(const KernelError& error) {
  switch (error.kind()) {
    case ErrorKind::kValue: TORCH_CHECK_VALUE(false, error.what());
    case ErrorKind::kType: TORCH_CHECK_TYPE(false, error.what());
    case ErrorKind::kIndex: TORCH_CHECK_INDEX(false, error.what());
    case ErrorKind::kOutOfMemory: TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
    case ErrorKind::kNotImplemented: TORCH_CHECK_NOT_IMPLEMENTED(false, error.what());
    case ErrorKind::kRuntime: break;
  }
  TORCH_CHECK(false, error.what());
}

void throw_torch_error(const SimulatorBug& bug) { TORCH_CHECK(false, bug.what()); }

void throw_host_out_of_memory(std::string_view what) {
  TORCH_CHECK(false, "neuron_sim: the host is out of memory", what.empty() ? "" : " for ", what,
              ".");
}

}  // namespace neuron_sim
