// Random numbers for Python.

#include <nanobind/stl/string.h>

#include "device/isa/random/dropout.h"
#include "device/isa/random/rand2.h"
#include "device/isa/random/rand_get_state.h"
#include "device/isa/random/rand_set_state.h"
#include "device/isa/random/rng.h"
#include "device/isa/random/set_rng_seed.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void dropout(Builder& self, const View& dst, const View& data, const nb::object& prob,
             const std::string& engine) {
  Dropout dropout{dst, data};
  set_operand("prob", prob, dropout.prob_tile, dropout.prob);
  dropout.engine = engine_named(engine);
  self.emit(dropout);
}

void rng(Builder& self, const View& dst, const std::string& engine) {
  self.emit(Rng{dst, engine_named(engine)});
}

void rand2(Builder& self, const View& dst, const nb::object& min, const nb::object& max,
           const std::string& engine) {
  Rand2 uniform{dst};
  set_operand("min", min, uniform.min_tile, uniform.min);
  set_operand("max", max, uniform.max_tile, uniform.max);
  uniform.engine = engine_named(engine);
  self.emit(uniform);
}

void set_rng_seed(Builder& self, const View& src_seeds, const std::string& engine) {
  self.emit(SetRngSeed{src_seeds, engine_named(engine)});
}

void rand_get_state(Builder& self, const View& dst, const std::string& engine) {
  self.emit(RandGetState{dst, engine_named(engine)});
}

void rand_set_state(Builder& self, const View& src_seeds, const std::string& engine) {
  self.emit(RandSetState{src_seeds, engine_named(engine)});
}

}  // namespace

void bind_random_numbers(nb::class_<Builder>& builder) {
  builder
      .def("dropout", &dropout, nb::arg("dst"), nb::arg("data"), nb::arg("prob"),
           nb::arg("engine") = "auto", "prob: a number or a [P, 1] tile.")
      .def("rng", &rng, nb::arg("dst"), nb::arg("engine") = "auto")
      .def("rand2", &rand2, nb::arg("dst"), nb::arg("min"), nb::arg("max"),
           nb::arg("engine") = "auto")
      .def("set_rng_seed", &set_rng_seed, nb::arg("src_seeds"), nb::arg("engine") = "auto")
      .def("rand_get_state", &rand_get_state, nb::arg("dst"), nb::arg("engine") = "auto")
      .def("rand_set_state", &rand_set_state, nb::arg("src_seeds"), nb::arg("engine") = "auto");
}

}  // namespace neuron_sim
