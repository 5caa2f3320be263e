#include "device/isa/activation/activation_reduce.h"

#include "device/instruction/checks.h"
#include "device/isa/activation/activation_stage.h"
#include "device/operand/engine_state.h"

namespace neuron_sim {
namespace {

constexpr OperandField kOperands[] = {
    {"dst", Direction::kWrite},         {"data", Direction::kRead},
    {"bias", Direction::kRead, true},   {"scale", Direction::kRead, true},
    {"accumulator", Direction::kWrite}, {"reduce_res", Direction::kWrite}};
constexpr AttributeField kAttributes[] = {{"op", AttributeKind::kActivation},
                                          {"scale", AttributeKind::kReal},
                                          {"bias", AttributeKind::kReal},
                                          {"reduce_op", AttributeKind::kAluOp}};

EngineKind choose_engine(const Draft&, const Architecture&) { return EngineKind::kScalar; }

void check(const Draft& draft, const Architecture& architecture) {
  activation_stage::check(draft, architecture);
  checks::memory("activation_reduce", "reduce_res", draft.operand(activation_stage::kReduceRes),
                 {MemoryKind::kPsum, MemoryKind::kSbuf});
  activation_stage::check_reduction(draft, ReduceCommand::kResetReduce, architecture);
}

void run(const Instance& instance) { activation_stage::run(instance, ReduceCommand::kResetReduce); }

}  // namespace

Draft ActivationReduce::draft() const {
  const View accumulator = engine_state(EngineState::kScalarAccumulator, data.partitions());
  return make_draft(
      kActivationReduce, engine, {&dst, &data, &bias_tile, &scale_tile, &accumulator, &reduce_res},
      {Attribute::of(op), Attribute::of(scale), Attribute::of(bias), Attribute::of(reduce_op)});
}

constinit const InstructionType kActivationReduce = {
    "activation_reduce",     kOperands, kAttributes, choose_engine, check, run,
    activation_stage::demand};

}  // namespace neuron_sim
