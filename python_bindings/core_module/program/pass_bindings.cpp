// The compiler's passes for Python.

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/compiler/dump.h"
#include "device/compiler/line/change_engine.h"
#include "device/compiler/line/change_layout.h"
#include "device/compiler/line/straight_line.h"
#include "device/compiler/pass.h"
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
                "; settings are names with a bool, 0 or 1."),
           ErrorKind::kType);
    }
    settings.set(nb::cast<std::string>(key), number);
  }
  return settings;
}

nb::dict as_dict(const PassSettings& settings) {
  nb::dict result;
  for (const PassSetting& each : pass_settings()) {
    result[each.name] = settings[each.name] != 0;
  }
  return result;
}

nb::dict settings_table() {
  nb::dict result;
  const nb::dict defaults = as_dict({});
  for (const PassSetting& each : pass_settings()) {
    nb::dict entry;
    entry["pass"] = each.pass;
    entry["default"] = defaults[each.name];
    entry["meaning"] = each.meaning;
    result[each.name] = entry;
  }
  return result;
}

nb::list passes() {
  nb::list names;
  for (const Pass& pass : pipeline()) names.append(pass.name);
  return names;
}

/// compile(), while other Python threads run.
Compiled compiled(const std::shared_ptr<const Program>& program, const nb::dict& settings) {
  const PassSettings read = settings_of(settings);
  const nb::gil_scoped_release unlocked;
  return compile(program, read);
}

std::shared_ptr<const Program> compile_program(const std::shared_ptr<const Program>& program,
                                               const nb::dict& settings) {
  return compiled(program, settings).program;
}

/// Compiles, and returns the names of the passes left out too.
nb::tuple compile_with_report(const std::shared_ptr<const Program>& program,
                              const nb::dict& settings) {
  Compiled result = compiled(program, settings);
  return nb::make_tuple(std::move(result.program), nb::cast(result.skipped_passes));
}

std::shared_ptr<const Program> on_engine_named(const Program& program, std::string_view source_line,
                                               std::string_view engine) {
  for (const EngineKind kind : {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}) {
    if (engine == name(kind)) return on_engine(program, source_line, kind);
  }
  fail(text("engine '", engine, "' does no element-wise work; Vector, Scalar and GpSimd do."));
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

nb::dict cost_table() {
  nb::dict result;
  for (const CompilerCostFact& fact : compiler_cost_facts()) {
    nb::dict entry;
    entry["value"] = fact.value;
    entry["unit"] = fact.unit;
    entry["source"] = fact.source;
    entry["certainty"] = fact.certainty;
    result[fact.name] = entry;
  }
  return result;
}

}  // namespace

void bind_passes(nb::module_& module) {
  module.def("compile_program", &compile_program, nb::arg("program"), nb::arg("settings"),
             "The program after the passes that `settings` (name -> bool or int) switch on.");
  module.def("compile_with_report", &compile_with_report, nb::arg("program"), nb::arg("settings"),
             "compile_program's program, and the names of the passes that were left out, because "
             "the chip cannot hold what they keep.");
  module.def("on_engine", &on_engine_named, nb::arg("program"), nb::arg("source_line"),
             nb::arg("engine"),
             "The program with the element-wise instructions of a source line (\"file:line\") on "
             "engine Vector, Scalar or GpSimd, those that it accepts; None when none moves.");
  module.def("with_dense_loads", &with_dense_loads, nb::arg("program"), nb::arg("source_line"),
             "The program, of another tensor in HBM, in which what the loads of a source line "
             "(\"file:line\") read lies in their order; None where it does already.");
  module.def("published_stacks", &stacks,
             "Software stacks of published measurements: name -> {compiler, source, settings, "
             "description}.");
  module.def("passes", &passes, "Names of the compiler's passes in the order in which they run.");
  module.def("check_dump_request", &check_dump_request, nb::arg("request"),
             "ValueError, with all there are, unless NEURON_SIM_DUMP may be `request`.");
  module.def("pass_settings", &settings_table,
             "Settings of the passes: name -> {pass that reads it, default, meaning}.");
  module.def("compiler_costs", &cost_table,
             "What the scheduling pass takes instructions to cost: name -> {value, unit, source, "
             "certainty}. Fitted to the order of instructions in traces, not to times.");
  module.def(
      "pass_objection", [](const Program& program) { return unroll_objection(program); },
      nb::arg("program"),
      "Why compile_program leaves a program as it is, one clause; empty when it does not.");
}

}  // namespace neuron_sim
