#include "device/check/first_non_finite.h"

#include <cmath>

#include "device/base/errors.h"
#include "device/check/float_elements.h"
#include "device/check/iterations.h"
#include "device/check/reports.h"

namespace neuron_sim {
namespace {

/// An element that is NaN or infinite.
struct NonFinite {
  int64_t partition = 0, element = 0;
  float value = 0;
};

std::optional<NonFinite> first_of(const Access& access) {
  std::optional<NonFinite> result;
  each_float_row(access, [&](const float* values, int64_t count, int64_t partition, int64_t first) {
    for (int64_t i = 0; i < count && !result; ++i) {
      if (!std::isfinite(values[i])) result = NonFinite{partition, first + i, values[i]};
    }
  });
  return result;
}

}  // namespace

FirstNonFinite::FirstNonFinite(const Program& program)
    : program_(program), depths_(loop_depths(program)) {}

void FirstNonFinite::before(std::span<const Access> operands) {
  finite_ = false;
  if (found) return;
  const auto stored = program_.operands_of(program_.instructions[instance_.instruction]);
  bool reads_floats = false;
  for (size_t i = 0; i < stored.size(); ++i) {
    if (!stored[i].present() || !stored[i].reads() || !is_float(stored[i].dtype)) continue;
    if (first_of(operands[i])) return;
    reads_floats = true;
  }
  finite_ = reads_floats;
}

void FirstNonFinite::after(const ObservedInstance& instance, std::span<const Access> operands,
                           const InstanceFacts& facts) {
  if (found || !finite_ || !facts.moves) return;
  const auto stored = program_.operands_of(program_.instructions[instance.instruction]);
  for (size_t i = 0; i < stored.size() && !found; ++i) {
    if (!stored[i].present() || !stored[i].writes() || !is_float(stored[i].dtype)) continue;
    const auto bad = first_of(operands[i]);
    if (!bad) continue;
    const TileId tile = instance.locations[i].tile;
    const int64_t* variables = instance.variables;
    InstanceName name{instance.instruction, {variables, variables + depths_[instance.instruction]}};
    found = finding_at(Rule::kFirstNonFinite, program_, instance.instruction, i, tile);
    found->index = name.index;
    found->place.partitions = ByteRange{bad->partition, bad->partition + 1};
    const int64_t size = itemsize(stored[i].dtype);
    found->place.bytes = ByteRange{bad->element * size, (bad->element + 1) * size};
    found->message =
        text(describe(program_, name), " writes ", std::isnan(bad->value) ? "NaN" : "infinity",
             " to element ", bad->element, " of partition ", bad->partition, " of operand '",
             found->operand, "' (tile '", found->tile, "') from finite operands.");
  }
}

}  // namespace neuron_sim
