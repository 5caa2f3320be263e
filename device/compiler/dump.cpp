#include "device/compiler/dump.h"

#include <cstdio>

#include "device/base/errors.h"
#include "device/base/settings.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kAllPasses = "after:all";

std::string request_for(const Pass& pass) { return text("after:", pass.name); }

}  // namespace

std::string dump_request() { return setting("NEURON_SIM_DUMP"); }

void check_dump_request(std::string_view request) {
  if (request.empty() || request == kAllPasses) return;
  std::string requests(kAllPasses);
  for (const Pass& pass : pipeline()) {
    if (request == request_for(pass)) return;
    requests += ", " + request_for(pass);
  }
  fail(text("NEURON_SIM_DUMP is '", request, "'; there are: ", requests, "."));
}

void dump(const Pass& pass, const StraightLine& line) {
  const std::string request = dump_request();
  if (request != kAllPasses && request != request_for(pass)) return;
  const std::string printed = text("after ", pass.name, ": ", listing(*lower(line)));
  std::fputs(printed.c_str(), stderr);
}

}  // namespace neuron_sim
