#include "device/isa/activation/activation.h"

#include "device/base/errors.h"
#include "device/instruction/scalar_accumulator.h"
#include "device/isa/activation/activation_stage.h"

namespace neuron_sim {
namespace {

constexpr auto kOperands = operand_table<Activate>();
constexpr auto kAttributes = attribute_table<Activate>();

void check(const Draft& draft, const Architecture& architecture) {
  activation_stage::check(draft, architecture);
  const auto command = draft.attribute(activation_stage::kReduceCommand).as<ReduceCommand>();
  if (command == ReduceCommand::kLoadReduce) {
    fail(
        "'activation' has no initial value for reduce_cmd 'load_reduce'; use 'reset_reduce' or"
        " 'reduce'.",
        ErrorKind::kNotImplemented);
  }
  activation_stage::check_reduction(draft, command, architecture);
}

void run(const Instance& instance) {
  activation_stage::run(instance,
                        instance.attribute(activation_stage::kReduceCommand).as<ReduceCommand>());
}

}  // namespace

Draft Activate::draft() const {
  Draft draft = draft_of(kActivation, *this);
  draft.operands[kAccumulator] = scalar_accumulator(reduce_command, reduce_res, data.partitions());
  return draft;
}

constinit const InstructionType kActivation = as_stackable(
    as_elementwise({"activation", kOperands, kAttributes, fixed_engine<EngineKind::kScalar>, check,
                    run, activation_stage::demand}));

}  // namespace neuron_sim
