// The type of masks, and the boxes that they leave as lists.

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// Mask(conditions): a tuple of expressions.
int initialise_mask(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject* conditions = nullptr;
  if (PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &conditions) == 0) return -1;
  Mask mask;
  for (const nb::handle each : nb::borrow<nb::tuple>(conditions)) {
    if (PyObject_TypeCheck(each.ptr(), expression_type) == 0) {
      wrong_type("condition", "an index expression", each.ptr());
    }
    mask.conditions.push_back(expression_of(each.ptr()));
  }
  hold(held<Mask>(self), mask);
  return 0;
}

PyObject* conditions_of(PyObject* self, void*) {
  nb::list conditions;
  for (const IndexExpression& each : held<Mask>(self).conditions) {
    conditions.append(made_held(classes.expression, each));
  }
  return nb::tuple(conditions).release().ptr();
}

PyObject* mask_shape(PyObject* self, void*) { return tuple_of(held<Mask>(self).shape()); }

PyGetSetDef mask_properties[] = {
    {"conditions", slot<conditions_of>, nullptr, "Expressions, each at least 0.", nullptr},
    {"shape", slot<mask_shape>, nullptr, "The broadcast shape of the conditions.", nullptr},
    {}};

PyType_Slot mask_slots[] = {{Py_tp_init, pointer(slot<initialise_mask>)},
                            {Py_tp_new, pointer(create_held<Mask>)},
                            {Py_tp_dealloc, pointer(deallocate_held<Mask>)},
                            {Py_tp_getset, mask_properties},
                            {0, nullptr}};

}  // namespace

void bind_mask(nb::module_& module) {
  PyType_Spec spec = {"neuron_sim._core.IndexMask", sizeof(Held<Mask>), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, mask_slots};
  new_type(module, spec);
}

std::optional<std::vector<Box>> boxes_of(PyObject* mask, const Sizes& shape) {
  if (mask == Py_None || mask == Py_True) return std::nullopt;
  if (mask == Py_False) return std::vector<Box>();
  if (Py_TYPE(mask) != classes.mask) {
    PyErr_Format(PyExc_ValueError,
                 "a mask is made of comparisons of index expressions, not of %s: NKI mask "
                 "expressions must be affine expressions of static loop indices.",
                 nb::cast<std::string>(nb::handle(Py_TYPE(mask)).attr("__name__")).c_str());
    throw nb::python_error();
  }
  return boxes(held<Mask>(mask), shape);
}

PyObject* boxes_in(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "boxes() takes a mask and a shape.");
    return nullptr;
  }
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
