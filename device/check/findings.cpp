#include "device/check/findings.h"

#include <algorithm>

#include "device/analysis/overwrites.h"
#include "device/base/errors.h"
#include "device/check/shadow_walk.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

Finding finding_of(const Program& program, const OverwrittenRead& read) {
  Finding finding = finding_at(Rule::kOverwrittenRead, program, read.instruction,
                               static_cast<size_t>(read.operand), read.tile);
  finding.other_line = line_of(program, read.overwritten);
  finding.message = text(
      "'", finding.instruction, "' of kernel '", program.kernel, "' reads operand '",
      finding.operand, "' (tile '", finding.tile, "') after '",
      program.instructions[read.overwritten].type->name, "' overwrote bytes of it through tile '",
      program.tiles[static_cast<size_t>(read.other)].label, "', which shares them.");
  return finding;
}

/// Whether no correct kernel does this, whatever its data.
bool is_always_wrong(const Finding& finding) {
  switch (finding.rule) {
    case Rule::kPsumBankCrossing:
    case Rule::kPsumInterleavedGroups:
    case Rule::kCarriedDependency:
    case Rule::kInstanceRace: return true;
    case Rule::kUnwrittenOutput: return finding.instruction.empty();  // nothing writes it at all
    default: return false;
  }
}

/// Whether no rule of `errors_only` applies: the program has no iterations without order and no
/// PSUM, and writes to all of its outputs.
bool has_no_errors(const Program& program, const CheckOptions& options) {
  if (!options.iterations.empty()) return false;
  const size_t inputs = options.inputs.value_or(program.arguments.size());
  const auto& arguments = program.arguments;
  for (size_t i = inputs; i < arguments.size(); ++i) {
    if (!arguments[i].written) return false;
  }
  return std::none_of(program.tiles.begin(), program.tiles.end(),
                      [](const Tile& tile) { return tile.memory == MemoryKind::kPsum; });
}

}  // namespace

std::vector<Finding> findings(const Program& program, const CheckOptions& options) {
  if (options.errors_only && has_no_errors(program, options)) return {};
  ShadowWalk walk(program, options, false);
  Cursor<ShadowWalk>(program, walk).walk();
  walk.finish();
  std::vector<Finding> result = walk.reports.take();
  if (options.errors_only) {
    std::erase_if(result, [](const Finding& finding) { return !is_always_wrong(finding); });
    return result;
  }
  for (const OverwrittenRead& read : overwritten_reads(program)) {
    result.push_back(finding_of(program, read));
  }
  return result;
}

}  // namespace neuron_sim
