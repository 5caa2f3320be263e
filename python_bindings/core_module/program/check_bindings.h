#pragma once
// Findings of the checker for Python.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "device/check/findings.h"

namespace neuron_sim {

/// (kind, first, end, level, group, iteration, line) of an IterationMark; kind: loop or instance.
using IterationTuple =
    std::tuple<std::string, uint32_t, uint32_t, int32_t, int64_t, int64_t, std::string>;

/// Options as Python passes them; KernelError for a kind that does not exist and for more inputs
/// than the program has arguments.
CheckOptions check_options(const Program& program, std::optional<size_t> inputs,
                           const std::vector<IterationTuple>& iterations, bool errors_only);

/// One dict per finding.
nanobind::list as_dicts(const std::vector<Finding>& findings);

/// check_rules, set_checking and take_findings of the module.
void bind_checks(nanobind::module_& module);

}  // namespace neuron_sim
