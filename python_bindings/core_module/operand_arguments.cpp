#include "python_bindings/core_module/operand_arguments.h"

#include "device/base/errors.h"

namespace nb = nanobind;

namespace neuron_sim {

void set_operand(const char* parameter, const nb::handle& value, View& tile, double& constant) {
  if (value.is_none() || nb::try_cast(value, constant)) return;
  if (!nb::isinstance<View>(value)) {
    fail(text("parameter '", parameter, "' is ", nb::repr(value).c_str(),
              ", not a number or a tile."),
         ErrorKind::kType);
  }
  tile = nb::cast<const View&>(value);
}

}  // namespace neuron_sim
