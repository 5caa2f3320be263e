#include "device/isa/random/set_rng_seed.h"

#include <array>
#include <cstring>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/isa/random/random_state.h"

namespace neuron_sim {
namespace {

using enum SetRngSeed::OperandIndex;

constexpr std::string_view kName = "set_rng_seed";
constexpr int64_t kLanes = 128;  // of every NeuronCore

constexpr auto kOperands = operand_table<SetRngSeed>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& seeds = draft.operand(kSeeds);
  checks::compute_operand(kName, "src_seeds", seeds, draft.engine, architecture);
  if (seeds.partitions() != 1 || seeds.free_elements() != 1) {
    fail(text("operand 'src_seeds' of 'set_rng_seed' must be a [1, 1] tile, but it is ",
              seeds.describe(), "."));
  }
  if (itemsize(seeds.dtype()) != sizeof(uint32_t)) {
    checks::dtype_error(kName, "src_seeds", seeds, "a dtype of 32 bits");
  }
}

void run(const Instance& instance) {
  const Access& state = instance.operand(kState);
  uint32_t seed = 0;
  std::memcpy(&seed, instance.operand(kSeeds).partition(0), sizeof seed);
  std::array<uint32_t, kVectorRandomWords> words{};
  for (int64_t lane = 0; lane < state.partitions; ++lane) {
    seed_random_state(seed, lane, words.data(), kVectorRandomWords);
    std::memcpy(state.partition(lane), words.data(), sizeof words);
  }
}

/// Assumed to cost as much as a copy of one element: the vendor does not say.
Demand demand(const Draft& draft, const Architecture&) {
  const View& seeds = draft.operand(kSeeds);
  return elementwise::demand(RateClass::kOneInput, seeds, {&seeds});
}

}  // namespace

Draft SetRngSeed::draft() const {
  const View state = random_state(EngineKind::kVector, kLanes);
  Draft draft = draft_of(kSetRngSeed, *this);
  draft.operands[kState] = state;
  return draft;
}

constinit const InstructionType kSetRngSeed = {
    kName, kOperands, {}, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
