// activation and activation_reduce for Python.

#include <nanobind/stl/string.h>

#include "device/isa/activation.h"
#include "device/isa/activation_reduce.h"
#include "python_bindings/core_module/builder_instructions.h"
#include "python_bindings/core_module/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

template <typename Instruction>
void set_scale_and_bias(Instruction& instruction, const nb::handle& scale, const nb::handle& bias) {
  if (nb::isinstance<View>(scale)) {
    instruction.scale_tile = nb::cast<View>(scale);
  } else {
    instruction.scale = nb::cast<double>(scale);
  }
  if (nb::isinstance<View>(bias)) {
    instruction.bias_tile = nb::cast<View>(bias);
  } else {
    instruction.bias = nb::cast<double>(bias);
  }
}

void activation(Builder& self, const View& dst, const std::string& op, const View& data,
                const nb::object& bias, const nb::object& scale, const View& reduce_res,
                const std::string& reduce_op, const std::string& reduce_cmd,
                const std::string& engine) {
  Activate instruction{dst, data, activation_named(op)};
  set_scale_and_bias(instruction, scale, bias);
  instruction.reduce_res = reduce_res;
  instruction.reduce_op = operator_named(reduce_op);
  instruction.reduce_command = reduce_command_named(reduce_cmd);
  instruction.engine = engine_named(engine);
  self.emit(instruction);
}

void activation_reduce(Builder& self, const View& dst, const std::string& op, const View& data,
                       const std::string& reduce_op, const View& reduce_res, const nb::object& bias,
                       const nb::object& scale, const std::string& engine) {
  ActivationReduce instruction;
  instruction.dst = dst;
  instruction.data = data;
  instruction.op = activation_named(op);
  instruction.reduce_op = operator_named(reduce_op);
  instruction.reduce_res = reduce_res;
  set_scale_and_bias(instruction, scale, bias);
  instruction.engine = engine_named(engine);
  self.emit(instruction);
}

}  // namespace

void bind_activations(nb::class_<Builder>& builder) {
  builder
      .def("activation", &activation, nb::arg("dst"), nb::arg("op"), nb::arg("data"),
           nb::arg("bias") = 0.0, nb::arg("scale") = 1.0, nb::arg("reduce_res") = View{},
           nb::arg("reduce_op") = "", nb::arg("reduce_cmd") = "idle", nb::arg("engine") = "auto",
           "dst = op(data * scale + bias); bias and scale: a number or a [P, 1] tile.")
      .def("activation_reduce", &activation_reduce, nb::arg("dst"), nb::arg("op"), nb::arg("data"),
           nb::arg("reduce_op"), nb::arg("reduce_res"), nb::arg("bias") = 0.0,
           nb::arg("scale") = 1.0, nb::arg("engine") = "auto");
}

}  // namespace neuron_sim
