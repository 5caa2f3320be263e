#include "device/compiler/dump.h"

#include <cstdio>

#include "device/base/settings.h"

namespace neuron_sim {

std::string dump_request() { return setting("NEURON_SIM_DUMP"); }

bool is_dumped(std::string_view prefix, std::string_view pass) {
  const std::string request = dump_request();
  return request == text(prefix, "after:all") || request == text(prefix, "after:", pass);
}

void check_dump_request(std::string_view request) {
  if (!request.empty() && !request.starts_with(kGraphDumps)) {
    check_dump_of(request, "", pipeline());
  }
}

void dump(const Pass& pass, const StraightLine& line) {
  if (!is_dumped("", pass.name)) return;
  const std::string printed = text("after ", pass.name, ": ", listing(*lower(line)));
  std::fputs(printed.c_str(), stderr);
}

}  // namespace neuron_sim
