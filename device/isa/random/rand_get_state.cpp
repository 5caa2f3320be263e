#include "device/isa/random/rand_get_state.h"

#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/random/random_state.h"

namespace neuron_sim {
namespace {

using enum RandGetState::OperandIndex;

constexpr std::string_view kName = "rand_get_state";

constexpr auto kOperands = operand_table<RandGetState>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::random_state_tile(kName, "dst", draft.operand(kTile), draft.engine, architecture);
}

void run(const Instance& instance) {
  const Access& tile = instance.operand(kTile);
  const Access& state = instance.operand(kState);
  for (int64_t p = 0; p < tile.partitions; ++p) copy_row(state, p, tile, p);
}

/// Assumed to cost as much as a copy of the words: the vendor does not say.
Demand demand(const Draft& draft, const Architecture&) {
  const View& tile = draft.operand(kTile);
  const RateClass rate =
      draft.engine == EngineKind::kGpSimd ? RateClass::kGpSimdOneInput : RateClass::kOneInput;
  return elementwise::demand(rate, tile, {&tile});
}

}  // namespace

Draft RandGetState::draft() const {
  const EngineKind owner = engine == EngineKind::kAuto ? EngineKind::kGpSimd : engine;
  const View state = random_state(owner, dst.partitions());
  Draft draft = draft_of(kRandGetState, *this);
  draft.operands[kState] = state;
  return draft;
}

constinit const InstructionType kRandGetState = {
    kName, kOperands, {}, fixed_engine<EngineKind::kGpSimd>, check, run, demand};

}  // namespace neuron_sim
