#include "device/isa/random/rand_set_state.h"

#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/random/random_state.h"

namespace neuron_sim {
namespace {

using enum RandSetState::OperandIndex;

constexpr std::string_view kName = "rand_set_state";

constexpr auto kOperands = operand_table<RandSetState>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::random_state_tile(kName, "src_seeds", draft.operand(kTile), draft.engine, architecture);
}

void run(const Instance& instance) {
  const Access& tile = instance.operand(kTile);
  const Access& state = instance.operand(kState);
  for (int64_t p = 0; p < tile.partitions; ++p) copy_row(tile, p, state, p);
}

/// Assumed to cost as much as a copy of the words: the vendor does not say.
Demand demand(const Draft& draft, const Architecture&) {
  const View& tile = draft.operand(kTile);
  const RateClass rate =
      draft.engine == EngineKind::kGpSimd ? RateClass::kGpSimdOneInput : RateClass::kOneInput;
  return elementwise::demand(rate, tile, {&tile});
}

}  // namespace

Draft RandSetState::draft() const {
  const EngineKind owner = engine == EngineKind::kAuto ? EngineKind::kGpSimd : engine;
  const View state = random_state(owner, src_seeds.partitions());
  Draft draft = draft_of(kRandSetState, *this);
  draft.operands[kState] = state;
  return draft;
}

constinit const InstructionType kRandSetState = {
    kName, kOperands, {}, fixed_engine<EngineKind::kGpSimd>, check, run, demand};

}  // namespace neuron_sim
