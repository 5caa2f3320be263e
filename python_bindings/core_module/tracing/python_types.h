#pragma once
// Types of Python whose fields are references: how one is built from members, properties, methods.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>

#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

template <class Function>
void* pointer(Function function) {
  return reinterpret_cast<void*>(function);
}

template <class Function>
PyCFunction fast(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

/// The member of a field of an object, readable and writable.
template <class Object>
constexpr PyMemberDef object_member(const char* name, int index, int flags = 0) {
  const auto place = static_cast<Py_ssize_t>(offsetof(Object, field));
  return {name, T_OBJECT, place + index * static_cast<Py_ssize_t>(sizeof(PyObject*)), flags,
          nullptr};
}

template <class Object>
PyTypeObject* made(nanobind::module_& module, const char* name, PyMemberDef* members,
                   initproc initialise, PyGetSetDef* properties = nullptr,
                   PyMethodDef* methods = nullptr, PyType_Slot last = {0, nullptr}) {
  static PyGetSetDef no_properties[] = {{}};
  static PyMethodDef no_methods[] = {{}};
  PyType_Slot slots[] = {{Py_tp_new, pointer(PyType_GenericNew)},
                         {Py_tp_init, pointer(initialise)},
                         {Py_tp_dealloc, pointer(deallocate<Object>)},
                         {Py_tp_traverse, pointer(traverse<Object>)},
                         {Py_tp_clear, pointer(clear<Object>)},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties == nullptr ? no_properties : properties},
                         {Py_tp_methods, methods == nullptr ? no_methods : methods},
                         last,
                         {0, nullptr}};
  PyType_Spec spec = {name, sizeof(Object), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nanobind::python_error();
  module.attr(strrchr(name, '.') + 1) = nanobind::handle(type);
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace neuron_sim::tracing
