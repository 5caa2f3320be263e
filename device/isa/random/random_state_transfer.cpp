// rand_get_state and rand_set_state: the words of an engine's random number state to and from a
// tile.

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/random/rand_get_state.h"
#include "device/isa/random/rand_set_state.h"
#include "device/isa/random/random_state.h"

namespace neuron_sim {
namespace {

enum OperandIndex { kTile, kState };
static_assert(int{kTile} == RandGetState::kTile && int{kTile} == RandSetState::kTile);

template <typename T>
constexpr auto kOperands = operand_table<T>();

void check(const Draft& draft, const Architecture& architecture) {
  const std::string_view instruction = draft.type->name;
  const char* operand = draft.type->operands[kTile].name;
  const View& tile = draft.operand(kTile);
  checks::generation(instruction, 3, architecture);
  if (architecture.features.vector_xorwow) {
    checks::engine(instruction, draft.engine, {EngineKind::kVector, EngineKind::kGpSimd},
                   architecture);
  } else {
    checks::engine(instruction, draft.engine, {EngineKind::kGpSimd}, architecture);
  }
  checks::compute_operand(instruction, operand, tile, draft.engine, architecture);
  if (tile.dtype() != Dtype::kUint32) {
    checks::dtype_error(instruction, operand, tile, "uint32");
  }
  const bool gpsimd = draft.engine == EngineKind::kGpSimd;
  const int64_t words = gpsimd ? kGpSimdRandomWords : kVectorRandomWords;
  if (tile.free_elements() == words) return;
  fail(text("operand '", operand, "' of '", instruction, "' has ", tile.free_elements(),
            " elements per partition; the random state of a lane of the ", name(draft.engine),
            " engine has ", words, "."));
}

template <OperandIndex source, OperandIndex target>
void run(const Instance& instance) {
  const Access& from = instance.operand(source);
  const Access& to = instance.operand(target);
  const int64_t partitions = instance.operand(kTile).partitions;
  for (int64_t p = 0; p < partitions; ++p) copy_row(from, p, to, p);
}

/// Assumed to cost as much as a copy of the words: the vendor does not say.
Demand demand(const Draft& draft, const Architecture&) {
  const View& tile = draft.operand(kTile);
  const RateClass rate =
      draft.engine == EngineKind::kGpSimd ? RateClass::kGpSimdOneInput : RateClass::kOneInput;
  return elementwise::demand(rate, tile, {&tile});
}

/// The draft of either instruction, with the state of the lanes of its tile.
Draft with_state(Draft draft, EngineKind engine) {
  const EngineKind owner = engine == EngineKind::kAuto ? EngineKind::kGpSimd : engine;
  draft.operands[kState] = random_state(owner, draft.operand(kTile).partitions());
  return draft;
}

}  // namespace

Draft RandGetState::draft() const { return with_state(draft_of(kRandGetState, *this), engine); }
Draft RandSetState::draft() const { return with_state(draft_of(kRandSetState, *this), engine); }

constinit const InstructionType kRandGetState = {RandGetState::kName,
                                                 kOperands<RandGetState>,
                                                 {},
                                                 fixed_engine<EngineKind::kGpSimd>,
                                                 check,
                                                 run<kState, kTile>,
                                                 demand};
constinit const InstructionType kRandSetState = {RandSetState::kName,
                                                 kOperands<RandSetState>,
                                                 {},
                                                 fixed_engine<EngineKind::kGpSimd>,
                                                 check,
                                                 run<kTile, kState>,
                                                 demand};

}  // namespace neuron_sim
