#include "python_bindings/core_module/program/facts.h"

#include <nanobind/stl/string.h>

namespace neuron_sim {

namespace nb = nanobind;

nb::dict facts_of(const Architecture& architecture) {
  nb::dict result;
  for (const auto& [key, fact] : architecture.facts()) {
    nb::dict entry;
    entry["value"] = fact.value;
    entry["unit"] = fact.unit;
    entry["source"] = fact.source;
    entry["certainty"] = fact.certainty;
    result[key.c_str()] = entry;
  }
  return result;
}

}  // namespace neuron_sim
