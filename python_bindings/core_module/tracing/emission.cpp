// The instructions of a trace: their operands as Views, given to the builder.

#include <nanobind/nanobind.h>

#include <stdexcept>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/instructions/python_parameter.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

namespace {

/// The builder's argument for an operand: the View of a tensor, anything else unchanged.
nb::object argument_of(PyObject* operand) {
  if (is_tensor(operand)) return access_of(as_tensor(operand));
  if (PyObject_TypeCheck(operand, tensor_type) != 0) return nb::handle(operand).attr("access");
  return nb::borrow(operand);
}

/// Emits a call without its method; false when an argument is of another kind than emit_plain
/// takes.
bool emit_without_method(TraceObject* trace, Builder& builder, const InstructionObject* instruction,
                         Objects given) {
  std::array<EmittedCalls::Argument, kMostArguments> arguments;
  for (size_t i = 0; i < given.size(); ++i) arguments[i] = {given[i], plain_view(given[i])};
  const auto accumulate = static_cast<size_t>(instruction->accumulate_at);  // huge without one
  const bool has_mode = accumulate >= given.size() || given[accumulate] != Py_None;
  if (trace->calls == nullptr) trace->calls = std::make_unique<HeldCalls>();
  return trace->calls->calls.emit(
      builder, {instruction, trace->line.ptr(), {arguments.data(), given.size()}, has_mode},
      [&] { return instruction->emit_plain(builder, given.data(), given.size()); },
      [&](size_t place) {
        auto& held = trace->calls->held[place];
        for (size_t i = 0; i < held.size(); ++i) {
          held[i] = i < given.size() ? nb::borrow(given[i]) : nb::object();
        }
      });
}

/// method(*arguments), of which the first is the builder.
void call_method_of(TraceObject* trace, const InstructionObject* instruction, Objects arguments) {
  Builder* builder = instruction->emit_plain == nullptr ? nullptr : open_builder(arguments[0]);
  if (builder != nullptr && emit_without_method(trace, *builder, instruction, arguments.subspan(1)))
    return;
  PyObject* method = instruction->method;
  const auto result =
      nb::steal(PyObject_Vectorcall(method, arguments.data(), arguments.size(), nullptr));
  must(result.is_valid());
}

/// The arguments of a builder's method.
struct Arguments {
  PyObject* values[kMostOperands + 3];
  size_t count = 0;

  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (size_t i = 0; i < count; ++i) nb::handle(values[i]).dec_ref();
  }
  void append(nb::object argument) { values[count++] = argument.release().ptr(); }
};

void emit_whole(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                Objects operands, PyObject* accumulate) {
  if (operands.size() > kMostOperands) {
    fail(text("an instruction takes at most ", kMostOperands, " operands."), ErrorKind::kType);
  }
  if (accumulate == nullptr && instruction->accumulate_at >= 0) accumulate = Py_None;
  Arguments arguments;
  arguments.append(trace->builder);
  if (dst != nullptr) arguments.append(argument_of(dst));
  for (size_t i = 0; i <= operands.size(); ++i) {
    if (accumulate != nullptr &&
        static_cast<long long>(arguments.count) == instruction->accumulate_at + 1) {
      arguments.append(nb::borrow(accumulate));
    }
    if (i < operands.size()) arguments.append(argument_of(operands[i]));
  }
  call_method_of(trace, instruction, {arguments.values, arguments.count});
}

}  // namespace

Builder* open_builder(PyObject* object) {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(nb::type<Builder>().ptr());
  const bool is_open = object != nullptr && Py_TYPE(object) == type && nb::inst_ready(object);
  return is_open ? nb::inst_ptr<Builder>(object) : nullptr;
}

Builder& builder_of(const TraceObject* trace) {
  PyObject* object = trace->builder;
  if (Builder* builder = open_builder(object)) return *builder;
  if (!is_absent(object)) wrong_type("_builder", "open", object);
  PyErr_SetString(PyExc_RuntimeError, "a trace has no builder yet.");
  throw nb::python_error();
}

void emit_instruction(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                      Objects operands, PyObject* accumulate) {
  try {
    emit_whole(trace, instruction, dst, operands, accumulate);
  } catch (const nb::python_error& error) {
    if (instruction->accumulate_at >= 0 || !error.matches(not_one_pattern)) throw;
    nb::list all;
    if (dst != nullptr) all.append(nb::handle(dst));
    for (PyObject* each : operands) all.append(nb::handle(each));
    nb::handle(trace).attr("_emit_in_parts")(
        nb::handle(const_cast<InstructionObject*>(instruction)), nb::tuple(all), error.value());
  }
}

void emit_now(const InstructionObject* instruction, Objects operands, PyObject* accumulate) {
  current_builder(nullptr, nullptr);  // settles, goes to the line
  emit_instruction(running_trace(), instruction, nullptr, operands, accumulate);
}

PyObject* call_instruction(PyObject* self, PyObject* const* arguments, size_t count, PyObject*) {
  emit_now(as_instruction(self), {arguments, static_cast<size_t>(PyVectorcall_NARGS(count))});
  Py_RETURN_NONE;
}

PyObject* emitted(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  const Builder* builder = trace == nullptr ? nullptr : open_builder(trace->builder);
  if (builder == nullptr) throw std::runtime_error("an instruction is called outside of a trace.");
  nb::object made = nb::steal(classes.handle->tp_alloc(classes.handle, 0));
  must(made.is_valid());
  auto* handle = static_cast<HandleObject*>(made.ptr());
  handle->number = nb::int_(builder->instruction_count() - 1);
  set_field(handle->trace, trace);
  if (count > 0 && arguments[0] != Py_None) {
    nb::handle(trace).attr("name_instruction")(nb::handle(arguments[0]),
                                               nb::handle(handle->number));
  }
  return made.release().ptr();
}

}  // namespace neuron_sim::tracing
