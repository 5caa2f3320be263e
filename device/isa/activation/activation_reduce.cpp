#include "device/isa/activation/activation_reduce.h"

#include "device/instruction/checks.h"
#include "device/isa/activation/activation_stage.h"
#include "device/operand/engine_state.h"

namespace neuron_sim {
namespace {

constexpr auto kOperands = operand_table<ActivationReduce>();
constexpr auto kAttributes = attribute_table<ActivationReduce>();

void check(const Draft& draft, const Architecture& architecture) {
  activation_stage::check(draft, architecture);
  checks::memory("activation_reduce", "reduce_res", draft.operand(activation_stage::kReduceRes),
                 {MemoryKind::kPsum, MemoryKind::kSbuf});
  activation_stage::check_reduction(draft, ReduceCommand::kResetReduce, architecture);
}

void run(const Instance& instance) { activation_stage::run(instance, ReduceCommand::kResetReduce); }

}  // namespace

Draft ActivationReduce::draft() const {
  Draft draft = draft_of(kActivationReduce, *this);
  draft.operands[kAccumulator] = engine_state(EngineState::kScalarAccumulator, data.partitions());
  return draft;
}

constinit const InstructionType kActivationReduce = {
    "activation_reduce",     kOperands, kAttributes, fixed_engine<EngineKind::kScalar>, check, run,
    activation_stage::demand};

}  // namespace neuron_sim
