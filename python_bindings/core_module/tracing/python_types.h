#pragma once
// Types of Python whose fields are references: how one is built from members, properties, methods.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "python_bindings/core_module/tracing/memory_reserve.h"
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

template <auto function>
struct Slot;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Slot<function> {
  static Result call(Arguments... arguments) noexcept {
    try {
      require_memory_reserve();
      return function(arguments...);
    } catch (...) {
      raised();
    }
    if constexpr (std::is_pointer_v<Result>)
      return nullptr;
    else
      return -1;
  }
};
/// A function as Python calls it: what it throws becomes Python's error.
template <auto function>
inline constexpr auto slot = &Slot<function>::call;

/// A type of a specification, in the module under its last name.
inline PyTypeObject* new_type(nanobind::module_& module, PyType_Spec& spec) {
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nanobind::python_error();
  module.attr(strrchr(spec.name, '.') + 1) = nanobind::handle(type);
  return reinterpret_cast<PyTypeObject*>(type);
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
  return new_type(module, spec);
}

}  // namespace neuron_sim::tracing
