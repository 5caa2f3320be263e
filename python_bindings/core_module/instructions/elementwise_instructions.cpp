// The instructions of the Vector engine for Python.

#include <nanobind/stl/string.h>

#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/reduction/tensor_tensor_scan.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void tensor_copy(Builder& self, const View& dst, const View& src, const std::string& engine) {
  self.emit(TensorCopy{dst, src, engine_named(engine)});
}

void tensor_tensor(Builder& self, const View& dst, const View& data1, const View& data2,
                   const std::string& op, const std::string& engine) {
  self.emit(TensorTensor{dst, data1, data2, operator_named(op), engine_named(engine)});
}

void tensor_scalar(Builder& self, const View& dst, const View& data, const std::string& op0,
                   const nb::object& operand0, bool reverse0, const std::string& op1,
                   const nb::object& operand1, bool reverse1, const std::string& engine) {
  TensorScalar scalar{dst, data};
  scalar.op0 = operator_named(op0);
  scalar.op1 = operator_named(op1);
  set_operand("operand0", operand0, scalar.operand0, scalar.constant0);
  set_operand("operand1", operand1, scalar.operand1, scalar.constant1);
  scalar.reverse0 = reverse0;
  scalar.reverse1 = reverse1;
  scalar.engine = engine_named(engine);
  self.emit(scalar);
}

void scalar_tensor_tensor(Builder& self, const View& dst, const View& data, const std::string& op0,
                          const nb::object& operand0, const std::string& op1, const View& operand1,
                          bool reverse0, bool reverse1, const std::string& engine) {
  ScalarTensorTensor scalar{dst, data};
  set_operand("operand0", operand0, scalar.operand0, scalar.constant0);
  scalar.operand1 = operand1;
  scalar.op0 = operator_named(op0);
  scalar.op1 = operator_named(op1);
  scalar.reverse0 = reverse0;
  scalar.reverse1 = reverse1;
  scalar.engine = engine_named(engine);
  self.emit(scalar);
}

void tensor_reduce(Builder& self, const View& dst, const View& data, const std::string& op,
                   int64_t axes, bool negate, const std::string& engine) {
  self.emit(TensorReduce{dst, data, operator_named(op), axes, negate, engine_named(engine)});
}

void tensor_tensor_scan(Builder& self, const View& dst, const View& data0, const View& data1,
                        const nb::object& initial, const std::string& op0, const std::string& op1,
                        const std::string& engine, bool reverse0, bool reverse1) {
  TensorTensorScan scan{dst, data0, data1};
  set_operand("initial", initial, scan.initial, scan.constant_initial);
  scan.op0 = operator_named(op0);
  scan.op1 = operator_named(op1);
  scan.reverse0 = reverse0;
  scan.reverse1 = reverse1;
  scan.engine = engine_named(engine);
  self.emit(scan);
}

void reciprocal(Builder& self, const View& dst, const View& data, const std::string& engine) {
  self.emit(Reciprocal{dst, data, engine_named(engine)});
}

}  // namespace

void bind_elementwise(nb::class_<Builder>& builder) {
  builder
      .def("tensor_copy", &tensor_copy, nb::arg("dst"), nb::arg("src"), nb::arg("engine") = "auto")
      .def("tensor_tensor", &tensor_tensor, nb::arg("dst"), nb::arg("data1"), nb::arg("data2"),
           nb::arg("op"), nb::arg("engine") = "auto")
      .def("tensor_scalar", &tensor_scalar, nb::arg("dst"), nb::arg("data"), nb::arg("op0"),
           nb::arg("operand0") = nb::none(), nb::arg("reverse0") = false, nb::arg("op1") = "",
           nb::arg("operand1") = nb::none(), nb::arg("reverse1") = false,
           nb::arg("engine") = "auto", "operand0, operand1: a number or a [P, 1] tile.")
      .def("scalar_tensor_tensor", &scalar_tensor_tensor, nb::arg("dst"), nb::arg("data"),
           nb::arg("op0"), nb::arg("operand0").none(), nb::arg("op1"), nb::arg("operand1"),
           nb::arg("reverse0") = false, nb::arg("reverse1") = false, nb::arg("engine") = "auto")
      .def("tensor_reduce", &tensor_reduce, nb::arg("dst"), nb::arg("data"), nb::arg("op"),
           nb::arg("axes") = 1, nb::arg("negate") = false, nb::arg("engine") = "auto",
           "axes: number of trailing free dimensions.")
      .def("tensor_tensor_scan", &tensor_tensor_scan, nb::arg("dst"), nb::arg("data0"),
           nb::arg("data1"), nb::arg("initial") = 0.0, nb::arg("op0") = "multiply",
           nb::arg("op1") = "add", nb::arg("engine") = "auto", nb::arg("reverse0") = false,
           nb::arg("reverse1") = false)
      .def("reciprocal", &reciprocal, nb::arg("dst"), nb::arg("data"), nb::arg("engine") = "auto");
}

}  // namespace neuron_sim
