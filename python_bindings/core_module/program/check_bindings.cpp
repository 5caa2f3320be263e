#include "python_bindings/core_module/program/check_bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/observe/last_writer.h"
#include "device/runtime/checking.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

nb::object as_tuple(const std::optional<ByteRange>& range) {
  if (!range) return nb::none();
  return nb::make_tuple(range->begin, range->end);
}

const char* severity(const RuleEntry& entry) { return entry.is_note ? "note" : "error"; }

nb::list rules() {
  nb::list result;
  for (const RuleEntry& entry : check_rules()) {
    nb::dict row;
    row["rule"] = entry.name;
    row["severity"] = severity(entry);
    row["meaning"] = entry.meaning;
    row["remedy"] = entry.remedy;
    result.append(row);
  }
  return result;
}

}  // namespace

CheckOptions check_options(const Program& program, std::optional<size_t> inputs,
                           const std::vector<IterationTuple>& iterations, bool errors_only) {
  if (inputs && *inputs > program.arguments.size()) {
    fail(text("kernel '", program.kernel, "' has ", program.arguments.size(),
              " arguments, of which ", *inputs, " cannot be inputs."));
  }
  CheckOptions options{inputs, {}, errors_only};
  for (const auto& [kind, first, end, level, group, iteration, line] : iterations) {
    if (kind != "loop" && kind != "instance") {
      fail(text("iterations are of kind loop or instance, not '", kind, "'."));
    }
    const auto of = kind == "loop" ? IterationMark::Kind::kLoop : IterationMark::Kind::kInstance;
    options.iterations.push_back({of, first, end, level, group, iteration, line});
  }
  return options;
}

nb::list as_dicts(const std::vector<Finding>& findings) {
  nb::list result;
  for (const Finding& finding : findings) {
    const RuleEntry& entry = entry_of(finding.rule);
    nb::dict row;
    row["rule"] = entry.name;
    row["severity"] = severity(entry);
    row["kernel"] = finding.kernel;
    row["message"] = finding.message;
    row["instruction"] = finding.instruction;
    row["operand"] = finding.operand;
    row["tile"] = finding.tile;
    row["bytes"] = as_tuple(finding.place.bytes);
    row["partitions"] = as_tuple(finding.place.partitions);
    row["index"] = nb::cast(finding.index);
    row["source_line"] = finding.source_line;
    row["other_line"] = finding.other_line;
    row["remedy"] = entry.remedy;
    result.append(row);
  }
  return result;
}

void bind_checks(nb::module_& module) {
  module.def(
      "last_writers",
      [](const Program& program, size_t argument, int64_t byte) {
        std::vector<std::string> lines;
        for (const uint32_t writer : last_writers(program, argument, byte)) {
          lines.push_back(line_of(program, writer));
        }
        return lines;
      },
      nb::arg("program"), nb::arg("argument"), nb::arg("byte"),
      "The line of the instruction that wrote a byte of an argument last, then of those that may "
      "have written it since, as data decides.");
  module.def("check_rules", &rules,
             "The rules of the checker: rule, severity (error or note), meaning, remedy.");
  module.def("set_checking", &set_checking, nb::arg("wanted"),
             "Checks every launch of this process from now on, or no longer.");
  module.def(
      "take_findings", [] { return as_dicts(take_findings()); },
      "What the launches since the last call did wrong, as Program.findings().");
}

}  // namespace neuron_sim
