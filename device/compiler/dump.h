#pragma once
// The program after a pass, for debugging.

#include <string>
#include <string_view>

#include "device/base/errors.h"
#include "device/compiler/pass.h"

namespace neuron_sim {

/// Requests for what passes over graphs leave (ops/graph/pipeline.h) begin so, before "after:".
inline constexpr std::string_view kGraphDumps = "graph:";

/// NEURON_SIM_DUMP: "after:all", or "after:" and the name of a pass; empty: nothing is printed.
std::string dump_request();
/// Whether dump_request() selects that pass of the table whose requests begin with `prefix`.
bool is_dumped(std::string_view prefix, std::string_view pass);
/// KernelError that lists all requests for the passes of a table unless this is one of them.
template <typename Passes>
void check_dump_of(std::string_view request, std::string_view prefix, const Passes& passes) {
  std::string requests = text(prefix, "after:all");
  bool known = request == requests;
  for (const auto& pass : passes) {
    const std::string other = text(prefix, "after:", pass.name);
    known = known || request == other;
    requests += ", " + other;
  }
  if (!known) fail(text("NEURON_SIM_DUMP is '", request, "'; there are: ", requests, "."));
}
/// The same for the compiler's passes; requests for graphs are checked where graphs are built.
void check_dump_request(std::string_view request);

/// One sentence, on a line: how many instances the pass took, and why not a loop's body once; empty
/// for a line whose instructions have one instance each.
std::string taken_by(const Pass& pass, const StraightLine& line);

/// Prints that and the program to stderr when dump_request() selects this pass. A program that is
/// compiled several times (it does not fit, or in two ways) is printed each time.
void dump(const Pass& pass, const StraightLine& line);

}  // namespace neuron_sim
