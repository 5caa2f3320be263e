#include "python_bindings/core_module/entry.h"

#include "python_bindings/core_module/tracing/python_types.h"

namespace neuron_sim::tracing {

namespace {

struct EntryFields {
  Owned function, traceback, dictionary;
};
using EntryObject = Object<EntryFields>;

int initialise_entry(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject *function = nullptr, *traceback = nullptr;
  must(PyArg_ParseTuple(arguments, "OO", &function, &traceback) != 0);
  set_field(static_cast<EntryObject*>(self)->function, function);
  set_field(static_cast<EntryObject*>(self)->traceback, traceback);
  return 0;
}

PyObject* call_entry(PyObject* self, PyObject* arguments, PyObject* keywords) {
  auto* entry = static_cast<EntryObject*>(self);
  PyObject* result = PyObject_Call(entry->function, arguments, keywords);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_Exception) == 0) return result;
  nanobind::python_error error;
  PyException_SetTraceback(error.value().ptr(), entry->traceback(error.value()).ptr());
  throw error;
}

PyObject* bound_entry(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr ? Py_NewRef(self) : PyMethod_New(self, object);
}

}  // namespace

void bind_entry(nanobind::module_& module) {
  static PyMemberDef members[] = {
      member<EntryObject>("__dictoffset__", &EntryObject::dictionary, READONLY), {}};
  members[0].type = T_PYSSIZET;
  static PyGetSetDef properties[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
  made_type<EntryObject>(module, "neuron_sim._core.Entry",
                         {{Py_tp_init, pointer(slot<initialise_entry>)},
                          {Py_tp_call, pointer(slot<call_entry>)},
                          {Py_tp_descr_get, pointer(bound_entry)},
                          {Py_tp_members, members},
                          {Py_tp_getset, properties}});
}

}  // namespace neuron_sim::tracing
