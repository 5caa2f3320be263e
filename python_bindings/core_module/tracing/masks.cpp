// The type of masks, and the boxes that they leave as lists.

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// Mask(conditions): a tuple of expressions.
int initialise_mask(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject* conditions = nullptr;
  must(PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &conditions) != 0);
  Mask mask;
  for (PyObject* each : span_of(conditions)) {
    if (PyObject_TypeCheck(each, expression_type) == 0) {
      wrong_type("condition", "an index expression", each);
    }
    mask.conditions.push_back(expression_of(each));
  }
  hold(static_cast<MaskObject*>(self)->value(), mask);
  return 0;
}

nb::object conditions_of(MaskObject& mask) {
  nb::list conditions;
  for (const IndexExpression& each : mask.conditions) {
    conditions.append(made_object<ExpressionObject>(classes.expression, each));
  }
  return nb::tuple(conditions);
}

}  // namespace

void bind_mask(nb::module_& module) {
  static PyGetSetDef properties[] = {
      property<MaskObject, conditions_of>("conditions", "Expressions, each at least 0."),
      property<MaskObject, [](MaskObject& mask) { return tuple_of(mask.value().shape()); }>(
          "shape", "The broadcast shape of the conditions."),
      {}};
  made_type<MaskObject>(module, "neuron_sim._core.IndexMask",
                        {{Py_tp_init, pointer(slot<initialise_mask>)}, {Py_tp_getset, properties}});
}

std::optional<std::vector<Box>> boxes_of(PyObject* mask, const Sizes& shape) {
  if (mask == Py_None || mask == Py_True) return std::nullopt;
  if (mask == Py_False) return std::vector<Box>();
  if (Py_TYPE(mask) == classes.mask) return boxes(*static_cast<MaskObject*>(mask), shape);
  fail(text("a mask is made of comparisons of index expressions, not of ",
            nb::cast<std::string>(nb::handle(Py_TYPE(mask)).attr("__name__")),
            ": NKI mask expressions must be affine expressions of static loop indices."));
}

PyObject* boxes_in(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) fail("boxes() takes a mask and a shape.", ErrorKind::kType);
  const auto left = boxes_of(arguments[0], sizes_of(arguments[1]));
  if (!left) Py_RETURN_NONE;
  nb::list result;
  for (const Box& box : *left) {
    nb::list ranges;
    for (size_t d = 0; d < box.first.size(); ++d) {
      ranges.append(nb::make_tuple(box.first[d], box.last[d] - box.first[d]));
    }
    result.append(nb::tuple(ranges));
  }
  return result.release().ptr();
}

}  // namespace neuron_sim::tracing
