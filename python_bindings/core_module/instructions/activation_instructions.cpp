// activation, activation_reduce, activate2 and exponential for Python.

#include <nanobind/stl/string.h>

#include "device/isa/activation/activate2.h"
#include "device/isa/activation/activation.h"
#include "device/isa/activation/activation_reduce.h"
#include "device/isa/activation/exponential.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

template <typename Instruction>
void set_scale_and_bias(Instruction& instruction, const nb::handle& scale, const nb::handle& bias) {
  set_operand("scale", scale, instruction.scale_tile, instruction.scale);
  set_operand("bias", bias, instruction.bias_tile, instruction.bias);
}

void activation(Builder& self, const View& dst, const std::string& op, const View& data,
                const nb::object& bias, const nb::object& scale, const View* reduce_res,
                const std::string& reduce_op, const std::string& reduce_cmd,
                const std::string& engine) {
  Activate instruction{dst, data, activation_named(op)};
  set_scale_and_bias(instruction, scale, bias);
  instruction.reduce_res = view_or_absent(reduce_res);
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

void activate2(Builder& self, const View& dst, const std::string& op, const View& data,
               const nb::object& imm0, const nb::object& imm1, const std::string& op0,
               const std::string& op1, double relu_param, bool reverse0, bool reverse1,
               const std::string& reduce_op, const View* reduce_res, const std::string& reduce_cmd,
               const std::string& engine) {
  Activate2 instruction;
  instruction.dst = dst;
  instruction.op = activation_named(op);
  instruction.data = data;
  set_operand("imm0", imm0, instruction.imm0_tile, instruction.imm0);
  set_operand("imm1", imm1, instruction.imm1_tile, instruction.imm1);
  instruction.op0 = operator_named(op0);
  instruction.op1 = operator_named(op1);
  instruction.relu_param = relu_param;
  instruction.reverse0 = reverse0;
  instruction.reverse1 = reverse1;
  instruction.reduce_op = operator_named(reduce_op);
  instruction.reduce_res = view_or_absent(reduce_res);
  instruction.reduce_command = reduce_command_named(reduce_cmd);
  instruction.engine = engine_named(engine);
  self.emit(instruction);
}

void exponential(Builder& self, const View& dst, const View& src, const nb::object& max_value,
                 const View* reduce_res, const std::string& reduce_cmd,
                 const nb::object& reduce_init, const std::string& engine) {
  Exponential instruction{dst, src};
  set_operand("max_value", max_value, instruction.max_value_tile, instruction.max_value);
  instruction.reduce_res = view_or_absent(reduce_res);
  instruction.reduce_command = reduce_command_named(reduce_cmd);
  set_operand("reduce_init", reduce_init, instruction.reduce_init_tile, instruction.reduce_init);
  instruction.engine = engine_named(engine);
  self.emit(instruction);
}

}  // namespace

void bind_activations(nb::class_<Builder>& builder) {
  builder
      .def("activation", &activation, nb::arg("dst"), nb::arg("op"), nb::arg("data"),
           nb::arg("bias") = nb::none(), nb::arg("scale") = 1.0, nb::arg("reduce_res") = nb::none(),
           nb::arg("reduce_op") = "", nb::arg("reduce_cmd") = "idle", nb::arg("engine") = "auto",
           "dst = op(data * scale + bias); bias and scale: a number or a [P, 1] tile.")
      .def("activation_reduce", &activation_reduce, nb::arg("dst"), nb::arg("op"), nb::arg("data"),
           nb::arg("reduce_op"), nb::arg("reduce_res"), nb::arg("bias") = nb::none(),
           nb::arg("scale") = 1.0, nb::arg("engine") = "auto")
      .def("activate2", &activate2, nb::arg("dst"), nb::arg("op"), nb::arg("data"),
           nb::arg("imm0").none(), nb::arg("imm1").none(), nb::arg("op0"), nb::arg("op1"),
           nb::arg("relu_param") = 0.0, nb::arg("reverse0") = false, nb::arg("reverse1") = false,
           nb::arg("reduce_op") = "", nb::arg("reduce_res") = nb::none(),
           nb::arg("reduce_cmd") = "idle", nb::arg("engine") = "auto",
           "dst = op((data op0 imm0) op1 imm1); imm0, imm1: a number, a [P, 1] tile or None.")
      .def("exponential", &exponential, nb::arg("dst"), nb::arg("src"), nb::arg("max_value") = 0.0,
           nb::arg("reduce_res") = nb::none(), nb::arg("reduce_cmd") = "idle",
           nb::arg("reduce_init") = 0.0, nb::arg("engine") = "auto",
           "dst = exp(src - max_value), with an optional running sum.");
}

}  // namespace neuron_sim
