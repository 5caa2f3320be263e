#include "python_bindings/core_module/instructions/operand_arguments.h"

#include "device/base/errors.h"

namespace nb = nanobind;

namespace neuron_sim {

void set_operand(const char* parameter, const nb::handle& value, View& tile, double& constant) {
  // Tiles first: reading one as a number creates and drops a Python error.
  if (nb::isinstance<View>(value)) {
    tile = nb::cast<const View&>(value);
  } else if (!value.is_none() && !nb::try_cast(value, constant)) {
    fail(text("parameter '", parameter, "' is ", nb::repr(value).c_str(),
              ", not a number or a tile."),
         ErrorKind::kType);
  }
}

}  // namespace neuron_sim
