#include "device/isa/sequencing/core_barrier.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "core_barrier";
// Nothing is written, but later accesses must wait for the barrier as for a write.
using enum CoreBarrier::OperandIndex;
using enum CoreBarrier::AttributeIndex;
constexpr auto kOperands = operand_table<CoreBarrier>();
constexpr auto kAttributes = attribute_table<CoreBarrier>();

constexpr int64_t kBothCores = 0b11;  ///< bit i: core i
constexpr int64_t kMostCores = 62;

/// Cores outside 0 to 61 share a bit that no valid mask has.
int64_t mask_of(const std::vector<int64_t>& cores) {
  int64_t mask = 0;
  for (const int64_t core : cores) {
    mask |= int64_t{1} << (core < 0 ? kMostCores : std::min(core, kMostCores));
  }
  return cores.size() == 2 ? mask : 0;
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::generation(kName, 3, architecture);
  checks::engine(kName, draft.engine,
                 {EngineKind::kTensor, EngineKind::kVector, EngineKind::kScalar,
                  EngineKind::kGpSimd, EngineKind::kSync},
                 architecture);
  checks::memory(kName, "data", draft.operand(kData), {MemoryKind::kHbm, MemoryKind::kSbuf});
  if (draft.attribute(kCores).integer() != kBothCores) {
    fail(text("'core_barrier' on tensor '", draft.operand(kData).label(),
              "': cores must be (0, 1), the two cores of a logical core of architecture ",
              architecture.name, "."));
  }
}

Demand demand(const Draft&, const Architecture&) {
  Demand demand;
  demand.add({.unit = Unit::kBarrier});
  return demand;
}

}  // namespace

Draft CoreBarrier::draft() const {
  Draft draft = draft_of(kCoreBarrier, *this);
  draft.attributes[kCores] = Attribute::of(mask_of(cores));
  return draft;
}

const InstructionType kCoreBarrier = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kGpSimd>,
    check, nullptr,   demand,      Synchronisation::kBarrier};

}  // namespace neuron_sim
