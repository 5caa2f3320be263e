#pragma once
// The values of an architecture file, for Python.

#include <nanobind/nanobind.h>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// Every value of an architecture: key -> {value, unit, source, certainty}.
nanobind::dict facts_of(const Architecture& architecture);

}  // namespace neuron_sim
