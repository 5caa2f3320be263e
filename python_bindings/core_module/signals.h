#pragma once
// Signals of Python while C++ computes: Ctrl-C and whatever else the program handles.

#include <Python.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "device/base/interruption.h"

namespace neuron_sim {

/// The interpreter's lock, whether or not the thread had it.
class InterpreterLock {
 public:
  InterpreterLock() : state_(PyGILState_Ensure()) {}
  ~InterpreterLock() { PyGILState_Release(state_); }
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;

 private:
  PyGILState_STATE state_;
};

/// The exception that a signal handler of Python raised.
class RaisedBySignal : public Interruption {
 public:
  /// Takes Python's error.
  RaisedBySignal() {
    PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != nullptr) PyException_SetTraceback(error, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    error_ = std::shared_ptr<PyObject>(error, [](PyObject* object) {
      if (Py_IsInitialized() == 0) return;
      const InterpreterLock lock;
      Py_XDECREF(object);
    });
  }
  void raise() override {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error_.get())), error_.get());
  }

 private:
  std::shared_ptr<PyObject> error_;
};

/// Runs Python's handlers of pending signals, if this is the thread that they run on, and
/// throws `Raised` when one raises. With or without the interpreter's lock: a thread that holds it
/// lets the others have it for a moment, because one of them may wait here for it while it holds
/// what this thread waits for.
template <typename Raised>
void check_signals() {
  if (Py_IsInitialized() == 0) return;
  if (gettid() != getpid()) {
    if (PyGILState_Check() != 0) PyEval_RestoreThread(PyEval_SaveThread());
    return;
  }
  const InterpreterLock lock;
  if (PyErr_CheckSignals() != 0) throw Raised();
}

}  // namespace neuron_sim
