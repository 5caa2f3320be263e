// nc_matmul and nc_transpose for Python.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "device/isa/nc_matmul.h"
#include "device/isa/nc_transpose.h"
#include "python_bindings/core_module/builder_instructions.h"
#include "python_bindings/core_module/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void nc_matmul(Builder& self, const View& dst, const View& stationary, const View& moving,
               std::optional<bool> accumulate, bool is_transpose, bool is_stationary_onezero,
               bool is_moving_onezero) {
  NcMatmul matmul{dst, stationary, moving, accumulate};
  matmul.is_transpose = is_transpose;
  matmul.is_stationary_onezero = is_stationary_onezero;
  matmul.is_moving_onezero = is_moving_onezero;
  self.emit(matmul);
}

void nc_transpose(Builder& self, const View& dst, const View& data, const std::string& engine) {
  self.emit(NcTranspose{dst, data, engine_named(engine)});
}

}  // namespace

void bind_tensor_engine(nb::class_<Builder>& builder) {
  builder
      .def("nc_matmul", &nc_matmul, nb::arg("dst"), nb::arg("stationary"), nb::arg("moving"),
           nb::arg("accumulate") = nb::none(), nb::arg("is_transpose") = false,
           nb::arg("is_stationary_onezero") = false, nb::arg("is_moving_onezero") = false,
           "dst (+)= stationary.T @ moving; accumulate None: the first write overwrites.")
      .def("nc_transpose", &nc_transpose, nb::arg("dst"), nb::arg("data"),
           nb::arg("engine") = "auto");
}

}  // namespace neuron_sim
