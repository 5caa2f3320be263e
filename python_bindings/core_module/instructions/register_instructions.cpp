// Instructions that give Python a register.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/isa/sequencing/rank_id.h"
#include "device/isa/sequencing/register_alloc.h"
#include "python_bindings/core_module/instructions/instruction_methods.h"
#include "python_bindings/core_module/instructions/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

/// The register that holds x from here on: `dst`, or a fresh one when that is negative.
int register_alloc(Builder& self, const nb::object& x, const std::string& engine, int dst) {
  RegisterAlloc instruction;
  value_named(engine, instruction.engine);
  int64_t number = 0;
  if (nb::isinstance<View>(x)) {
    instruction.x = nb::cast<View>(x);
  } else if (nb::try_cast(x, number)) {
    instruction.x_constant = number;
  } else if (!x.is_none()) {
    fail(text("parameter 'x' of 'register_alloc' is ", nb::repr(x).c_str(),
              ", not an int, a tensor or None."),
         ErrorKind::kType);
  }
  const int result = dst >= 0 ? dst : self.allocate_register();
  instruction.dst = result;
  self.emit(instruction);
  return result;
}

int rank_id(Builder& self, const std::string& engine) {
  const int result = self.allocate_register();
  RankId instruction{result};
  value_named(engine, instruction.engine);
  self.emit(instruction);
  return result;
}

}  // namespace

void bind_register_instructions(nb::class_<Builder>& builder) {
  builder
      .def(
          "register_alloc", &register_alloc, nb::arg("x") = nb::none(), nb::arg("engine") = "auto",
          nb::arg("dst") = -1,
          "A fresh register, or dst, that holds x: an int, the one element of a tensor, or what it "
          "held.")
      .def("rank_id", &rank_id, nb::arg("engine") = "auto",
           "A fresh register that holds the number of the rank.");
}

}  // namespace neuron_sim
