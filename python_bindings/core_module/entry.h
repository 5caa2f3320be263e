#pragma once
// Functions of this package that scripts call. A frame of Python that raised an error anew would be
// part of its traceback; C has none.

#include <nanobind/nanobind.h>

namespace neuron_sim::tracing {

void bind_entry(nanobind::module_& module);

}  // namespace neuron_sim::tracing
