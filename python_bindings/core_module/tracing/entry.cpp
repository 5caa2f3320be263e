// A function of this package that scripts call. A frame of Python that raised an error anew would
// be part of its traceback; C has none.

#include "python_bindings/core_module/tracing/bindings.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace neuron_sim::tracing {

namespace {

struct EntryObject {
  enum { kFunction, kTraceback, kDictionary, kFields };
  PyObject ob_base;
  Owned field[kFields];
};

int initialise_entry(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject *function = nullptr, *traceback = nullptr;
  if (PyArg_ParseTuple(arguments, "OO", &function, &traceback) == 0) return -1;
  auto* entry = reinterpret_cast<EntryObject*>(self);
  set_field(entry->field[EntryObject::kFunction], function);
  set_field(entry->field[EntryObject::kTraceback], traceback);
  return 0;
}

PyObject* call_entry(PyObject* self, PyObject* arguments, PyObject* keywords) {
  auto* entry = reinterpret_cast<EntryObject*>(self);
  PyObject* result = PyObject_Call(entry->field[EntryObject::kFunction], arguments, keywords);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_Exception) == 0) return result;
  nanobind::python_error error;
  const nanobind::handle traceback(entry->field[EntryObject::kTraceback]);
  PyException_SetTraceback(error.value().ptr(), traceback(error.value()).ptr());
  throw error;
}

PyObject* bound_entry(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr ? Py_NewRef(self) : PyMethod_New(self, object);
}

}  // namespace

void bind_entry(nanobind::module_& module) {
  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET,
       offsetof(EntryObject, field) + EntryObject::kDictionary * sizeof(PyObject*), READONLY,
       nullptr},
      {}};
  static PyGetSetDef properties[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
  static PyMethodDef methods[] = {{}};
  PyTypeObject* type =
      made<EntryObject>(module, "neuron_sim._core.Entry", members, initialise_entry, properties,
                        methods, {Py_tp_call, pointer(slot<call_entry>)});
  type->tp_descr_get = bound_entry;
}

}  // namespace neuron_sim::tracing
