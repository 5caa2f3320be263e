#pragma once
// How the objects of structures.h come and go, and how their types are built from members,
// properties and methods.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/base/memory_reserve.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

// --- the life of an object -------------------------------------------------------------------

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
template <class Value, class Use>
void for_loops(const Value&, Use) {}  // which names none

/// Gives an object another value.
template <class Value>
void hold(Value& own, const Value& value) {
  for_loops(value, [](nanobind::handle loop) { loop.inc_ref(); });
  const Value old = std::exchange(own, value);
  for_loops(old, [](nanobind::handle loop) { loop.dec_ref(); });
}

/// A new object of a type, with a value. Throws python_error.
template <class Object, class Given>
nanobind::object made_object(PyTypeObject* type, Given&& value) {
  const bool is_plain = type->tp_basicsize == sizeof(Object) && PyType_IS_GC(type) == 0;
  // Which leaves the capacity of the value that is not used as it is.
  PyObject* made = is_plain ? PyObject_New(Object, type) : type->tp_alloc(type, 0);
  if (made == nullptr) throw nanobind::python_error();
  auto& own = static_cast<Object*>(made)->value();
  new (&own) std::remove_cvref_t<Given>(std::forward<Given>(value));
  for_loops(own, [](nanobind::handle loop) { loop.inc_ref(); });
  return nanobind::steal(made);
}

template <class Object>
PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made == nullptr) return nullptr;
  auto& value = static_cast<Object*>(made)->value();
  new (&value) std::remove_reference_t<decltype(value)>();
  return made;
}

template <class Object>
int traverse(PyObject* self, visitproc visit, void* arg) {
  for (const Owned& each : static_cast<Object*>(self)->references()) Py_VISIT(each.ptr());
  Py_VISIT(Py_TYPE(self));
  return 0;
}

template <class Object>
int clear(PyObject* self) {
  for (Owned& each : static_cast<Object*>(self)->references()) each.reset();
  return 0;
}

template <class Object>
void deallocate(PyObject* self) {
  if (PyType_IS_GC(Py_TYPE(self)) != 0) PyObject_GC_UnTrack(self);
  auto& value = static_cast<Object*>(self)->value();
  for_loops(value, [](nanobind::handle loop) { loop.dec_ref(); });
  std::destroy_at(&value);
  clear<Object>(self);
  const nanobind::object type = nanobind::steal(nanobind::handle(Py_TYPE(self)));  // it owned one
  Py_TYPE(self)->tp_free(self);
}

// --- tables of a type ------------------------------------------------------------------------

template <class Function>
void* pointer(Function function) {
  return reinterpret_cast<void*>(function);
}

template <class Function>
PyCFunction fast(Function function) {
  return reinterpret_cast<PyCFunction>(pointer(function));
}

template <auto function>
struct Slot;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Slot<function> {
  static constexpr bool kIsStatus = std::is_same_v<Result, int>;
  using Returned = std::conditional_t<kIsStatus, int, PyObject*>;

  static Returned call(Arguments... arguments) noexcept {
    try {
      require_memory_reserve();
      if constexpr (std::is_void_v<Result>) {
        function(arguments...);
        return Py_NewRef(Py_None);
      } else if constexpr (std::is_base_of_v<nanobind::handle, Result>) {
        return function(arguments...).release().ptr();
      } else {
        return function(arguments...);
      }
    } catch (...) {
      raised();
    }
    if constexpr (kIsStatus)
      return -1;
    else
      return nullptr;
  }
};
/// A function as Python calls it, also one of an object of nanobind or of nothing, which is None:
/// what it throws becomes Python's error.
template <auto function>
inline constexpr auto slot = &Slot<function>::call;

/// The member of an object, writable unless `flags` is READONLY.
template <class Object, class Fields, class Value>
PyMemberDef member(const char* name, Value Fields::*place, int flags = 0) {
  alignas(Object) static const std::byte memory[sizeof(Object)] = {};
  const Value* at = &(reinterpret_cast<const Object*>(memory)->*place);
  constexpr int kType = std::is_same_v<Value, Owned>  ? T_OBJECT
                        : std::is_same_v<Value, char> ? T_BOOL
                                                      : T_LONGLONG;
  return {name, kType, reinterpret_cast<const std::byte*>(at) - memory, flags, nullptr};
}

/// The getter of a property whose value is read(object), a function without captures.
template <class Object, auto read>
nanobind::object get(PyObject* self, void*) {
  return read(static_cast<Object&>(*self));
}
template <class Object, auto read>
constexpr PyGetSetDef property(const char* name, const char* text) {
  return {name, slot<&get<Object, read>>, nullptr, text, nullptr};
}

/// A type of the module, under its last name, with slots beside those of its objects' life.
template <class Object>
PyTypeObject* made_type(nanobind::module_& module, const char* name,
                        std::initializer_list<PyType_Slot> own) {
  std::vector<PyType_Slot> slots(own);
  slots.push_back({Py_tp_new, pointer(create<Object>)});
  slots.push_back({Py_tp_dealloc, pointer(deallocate<Object>)});
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  if (Object::kReferences > 0) {
    flags |= Py_TPFLAGS_HAVE_GC;
    slots.push_back({Py_tp_traverse, pointer(traverse<Object>)});
    slots.push_back({Py_tp_clear, pointer(clear<Object>)});
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec = {name, sizeof(Object), 0, flags, slots.data()};
  PyObject* type = PyType_FromSpec(&spec);
  must(type != nullptr);
  module.attr(strrchr(name, '.') + 1) = nanobind::handle(type);
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace neuron_sim::tracing
