#include "device/compiler/dump.h"

#include <cstdio>
#include <set>

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

std::string taken_by(const Pass& pass, const StraightLine& line) {
  std::set<uint32_t> statements;
  for (const StraightInstruction& each : line.instructions) statements.insert(each.statement);
  if (line.instructions.size() == statements.size()) return "";
  constexpr const char* kReasons[] = {
      "it compares instances of several iterations", "tiles get a version in each iteration",
      "it places or schedules each iteration separately",
      "other passes need them unrolled, what it does is alike in all iterations"};
  return text(pass.name, " took ", line.instructions.size(), " instances of ", statements.size(),
              " instructions: ", kReasons[static_cast<size_t>(pass.iterations)], ".\n");
}

void dump(const Pass& pass, const StraightLine& line) {
  if (!is_dumped("", pass.name)) return;
  const std::string printed =
      text(taken_by(pass, line), "after ", pass.name, ": ", listing(*lower(line)));
  std::fputs(printed.c_str(), stderr);
}

}  // namespace neuron_sim
