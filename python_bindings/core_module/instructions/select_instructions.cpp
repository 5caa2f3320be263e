// Instructions that choose between elements, or places known at run time, for Python.

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/isa/elementwise/affine_select.h"
#include "device/isa/movement/tensor_copy_dynamic_dst.h"
#include "device/isa/movement/tensor_copy_dynamic_src.h"
#include "device/isa/movement/tensor_copy_predicated.h"
#include "device/isa/reduction/range_select.h"
#include "device/isa/reduction/select_reduce.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void affine_select(Builder& self, const View& dst, const IndexPattern& pattern,
                   int64_t channel_multiplier, const View& on_true_tile, double on_false_value,
                   const std::string& cmp_op, int64_t offset, const std::string& engine) {
  AffineSelect select{dst, pattern, channel_multiplier, on_true_tile, on_false_value};
  select.cmp_op = operator_named(cmp_op);
  select.offset = offset;
  select.engine = engine_named(engine);
  self.emit(select);
}

void range_select(Builder& self, const View& dst, const View& on_true_tile,
                  const std::string& comp_op0, const std::string& comp_op1, const View& bound0,
                  const View& bound1, const std::string& reduce_cmd, const View* reduce_res,
                  const std::string& reduce_op, int64_t range_start, double on_false_value,
                  const std::string& engine) {
  RangeSelect select{dst, on_true_tile, bound0, bound1};
  select.reduce_res = view_or_absent(reduce_res);
  select.comp_op0 = operator_named(comp_op0);
  select.comp_op1 = operator_named(comp_op1);
  select.reduce_command = reduce_command_named(reduce_cmd);
  select.reduce_op = operator_named(reduce_op);
  select.range_start = range_start;
  select.on_false_value = on_false_value;
  select.engine = engine_named(engine);
  self.emit(select);
}

void select_reduce(Builder& self, const View& dst, const View& predicate, const View& on_true,
                   const nb::object& on_false, const View* reduce_res,
                   const std::string& reduce_cmd, const std::string& reduce_op, bool reverse_pred,
                   const std::string& engine) {
  SelectReduce select{dst, predicate, on_true};
  set_operand("on_false", on_false, select.on_false, select.constant_false);
  select.reduce_res = view_or_absent(reduce_res);
  select.reduce_command = reduce_command_named(reduce_cmd);
  select.reduce_op = operator_named(reduce_op);
  select.reverse_pred = reverse_pred;
  select.engine = engine_named(engine);
  self.emit(select);
}

void tensor_copy_predicated(Builder& self, const View& dst, const nb::object& src,
                            const View& predicate, bool reverse_pred, const std::string& engine) {
  TensorCopyPredicated copy{dst};
  set_operand("src", src, copy.src, copy.constant);
  copy.predicate = predicate;
  copy.reverse_pred = reverse_pred;
  copy.engine = engine_named(engine);
  self.emit(copy);
}

template <typename Copy>
void tensor_copy_dynamic(Builder& self, const View& dst, const View& src, const View& offset,
                         const std::string& engine) {
  self.emit(Copy{dst, src, offset, engine_named(engine)});
}

}  // namespace

void bind_selections(nb::class_<Builder>& builder) {
  builder
      .def("affine_select", &affine_select, nb::arg("dst"), nb::arg("pattern"),
           nb::arg("channel_multiplier"), nb::arg("on_true_tile"), nb::arg("on_false_value"),
           nb::arg("cmp_op") = "equal", nb::arg("offset") = 0, nb::arg("engine") = "auto",
           "dst = on_true_tile where offset + p * channel_multiplier + pattern cmp_op 0.")
      .def("range_select", &range_select, nb::arg("dst"), nb::arg("on_true_tile"),
           nb::arg("comp_op0"), nb::arg("comp_op1"), nb::arg("bound0"), nb::arg("bound1"),
           nb::arg("reduce_cmd") = "reset_reduce", nb::arg("reduce_res") = nb::none(),
           nb::arg("reduce_op") = "max", nb::arg("range_start") = 0,
           nb::arg("on_false_value") = double{std::numeric_limits<float>::lowest()},
           nb::arg("engine") = "auto")
      .def("select_reduce", &select_reduce, nb::arg("dst"), nb::arg("predicate"),
           nb::arg("on_true"), nb::arg("on_false"), nb::arg("reduce_res") = nb::none(),
           nb::arg("reduce_cmd") = "idle", nb::arg("reduce_op") = "max",
           nb::arg("reverse_pred") = false, nb::arg("engine") = "auto")
      .def("tensor_copy_predicated", &tensor_copy_predicated, nb::arg("dst"), nb::arg("src"),
           nb::arg("predicate"), nb::arg("reverse_pred") = false, nb::arg("engine") = "auto",
           "dst = src (a tile or a number) where predicate is not zero.")
      .def("tensor_copy_dynamic_src", &tensor_copy_dynamic<TensorCopyDynamicSrc>, nb::arg("dst"),
           nb::arg("src"), nb::arg("offset"), nb::arg("engine") = "auto",
           "dst = src[:, offset : offset + size]; offset: one integer in SBUF, in steps of the "
           "first free dimension of src.")
      .def("tensor_copy_dynamic_dst", &tensor_copy_dynamic<TensorCopyDynamicDst>, nb::arg("dst"),
           nb::arg("src"), nb::arg("offset"), nb::arg("engine") = "auto",
           "dst[:, offset : offset + size] = src.");
}

}  // namespace neuron_sim
