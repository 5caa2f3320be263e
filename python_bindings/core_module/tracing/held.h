#pragma once
// Python's objects that hold a value of device/tracing, with the loops that the value names.

#include <new>
#include <utility>

#include "python_bindings/core_module/tracing/structures.h"

namespace neuron_sim::tracing {

template <class Value>
struct Held {
  PyObject ob_base;
  Value value;
};

template <class Value>
Value& held(PyObject* object) {
  return reinterpret_cast<Held<Value>*>(object)->value;
}

/// The object of which a loop is the value.
inline PyObject* object_of(const Loop* loop) {
  const auto* address = reinterpret_cast<const char*>(loop) - offsetof(LoopObject, loop);
  return reinterpret_cast<PyObject*>(const_cast<char*>(address));
}

/// Calls use(loop) for each term of a value.
template <class Use>
void for_loops(const Position& position, Use use) {
  for (const Term& term : position.terms) use(nanobind::handle(object_of(term.loop)));
}
template <class Use>
void for_loops(const IndexExpression& expression, Use use) {
  for_loops(expression.position, use);
}
template <class Use>
void for_loops(const Mask& mask, Use use) {
  for (const IndexExpression& condition : mask.conditions) for_loops(condition, use);
}
template <class Use>
void for_loops(const TensorView& view, Use use) {
  for_loops(view.partition, use);
  for_loops(view.start, use);
  for (const IndexCheck& check : view.checks) for_loops(check.start, use);
}

/// Gives a value that an object holds another one.
template <class Value>
void hold(Value& own, const Value& value) {
  for_loops(value, [](nanobind::handle loop) { loop.inc_ref(); });
  const Value old = std::exchange(own, value);
  for_loops(old, [](nanobind::handle loop) { loop.dec_ref(); });
}

template <class Value>
PyObject* create_held(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made != nullptr) new (&held<Value>(made)) Value();
  return made;
}

/// An object of a type that holds a value. Throws python_error.
template <class Given>
nanobind::object made_held(PyTypeObject* type, Given&& value) {
  using Value = std::remove_cvref_t<Given>;
  const bool is_plain = type->tp_basicsize == sizeof(Held<Value>) && PyType_IS_GC(type) == 0;
  // Which leaves the capacity of the value that is not used as it is.
  PyObject* made = is_plain ? &PyObject_New(Held<Value>, type)->ob_base : type->tp_alloc(type, 0);
  if (made == nullptr) throw nanobind::python_error();
  new (&held<Value>(made)) Value(std::forward<Given>(value));
  for_loops(held<Value>(made), [](nanobind::handle loop) { loop.inc_ref(); });
  return nanobind::steal(made);
}

template <class Value>
void deallocate_held(PyObject* self) {
  const nanobind::object type = nanobind::steal(nanobind::handle(Py_TYPE(self)));  // it owned one
  for_loops(held<Value>(self), [](nanobind::handle loop) { loop.dec_ref(); });
  held<Value>(self).~Value();
  Py_TYPE(self)->tp_free(self);
}

}  // namespace neuron_sim::tracing
