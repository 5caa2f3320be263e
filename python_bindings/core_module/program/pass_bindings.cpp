// The compiler's passes for Python.

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/compiler/line/straight_line.h"
#include "device/compiler/passes.h"
#include "device/compiler/settings/compiler_costs.h"
#include "python_bindings/core_module/program/bindings.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

PassSettings settings_of(const nb::dict& values) {
  PassSettings settings;
  for (const auto& [key, value] : values) {
    int64_t number = 0;
    if (!nb::isinstance<nb::str>(key) || !nb::try_cast(value, number)) {
      fail(text("pass settings: ", nb::repr(key).c_str(), " is ", nb::repr(value).c_str(),
                "; settings are names with a bool or an int."),
           ErrorKind::kType);
    }
    set(settings, nb::cast<std::string>(key), number);
  }
  return settings;
}

nb::dict as_dict(const PassSettings& settings) {
  nb::dict result;
  for (const SettingField& field : setting_fields()) {
    if (field.flag != nullptr) {
      result[field.name] = settings.*field.flag;
    } else {
      result[field.name] = settings.*field.number;
    }
  }
  return result;
}

/// compile(), while other threads of Python run.
Compiled compiled(const std::shared_ptr<const Program>& program, const nb::dict& settings) {
  const PassSettings read = settings_of(settings);
  const nb::gil_scoped_release unlocked;
  return compile(program, read);
}

std::shared_ptr<const Program> compile_program(const std::shared_ptr<const Program>& program,
                                               const nb::dict& settings) {
  return compiled(program, settings).program;
}

/// The same, and the names of the passes that gave way.
nb::tuple compile_with_report(const std::shared_ptr<const Program>& program,
                              const nb::dict& settings) {
  Compiled result = compiled(program, settings);
  return nb::make_tuple(std::move(result.program), nb::cast(result.gave_way));
}

nb::dict stacks() {
  nb::dict result;
  for (const PublishedStack& stack : published_stacks()) {
    nb::dict entry;
    entry["compiler"] = stack.compiler;
    entry["source"] = stack.source;
    entry["settings"] = as_dict(stack.settings);
    entry["description"] = describe(stack.settings);
    result[stack.name] = entry;
  }
  return result;
}

/// Certainties as CompilerCosts documents them.
nb::dict compiler_costs() {
  const CompilerCosts costs;
  nb::dict result;
  const auto add = [&result](const char* name, double value, const char* unit,
                             const char* certainty) {
    nb::dict entry;
    entry["value"] = value;
    entry["unit"] = unit;
    entry["certainty"] = certainty;
    result[name] = entry;
  };
  add("clock", costs.clock_ghz, "GHz", "fitted");
  add("vector_clock", costs.vector_ghz, "GHz", "fitted");
  add("tensor_overhead", costs.tensor_overhead_ns, "ns", "fitted");
  add("scalar_overhead", costs.scalar_overhead_ns, "ns", "fitted");
  add("vector_overhead", costs.vector_overhead_ns, "ns", "fitted");
  add("dma_fixed", costs.dma_fixed_ns, "ns", "fitted");
  add("dma_bytes", costs.dma_bytes_per_ns, "bytes/ns", "fitted");
  add("scalar_trigger", costs.scalar_trigger_ns, "ns", "fitted");
  add("trigger", costs.trigger_ns, "ns", "fitted");
  add("static_trigger", costs.static_trigger_ns, "ns", "assumed");
  add("wake_up", costs.wake_up_ns, "ns", "fitted");
  return result;
}

}  // namespace

void bind_passes(nb::module_& module) {
  module.def("compile_program", &compile_program, nb::arg("program"), nb::arg("settings"),
             "The program after the passes that `settings` (name -> bool or int) switch on.");
  module.def("compile_with_report", &compile_with_report, nb::arg("program"), nb::arg("settings"),
             "compile_program's program, and the names of the passes that were left out, because "
             "the chip cannot hold what they keep.");
  module.def("published_stacks", &stacks,
             "Software stacks of published measurements: name -> {compiler, source, settings, "
             "description}.");
  module.def("compiler_costs", &compiler_costs,
             "What the scheduling pass takes instructions to cost: name -> {value, unit, "
             "certainty}. Fitted to the order of instructions in traces, not to times.");
  module.def(
      "pass_objection", [](const Program& program) { return unroll_objection(program); },
      nb::arg("program"),
      "Why compile_program leaves a program as it is, one clause; empty when it does not.");
}

}  // namespace neuron_sim
