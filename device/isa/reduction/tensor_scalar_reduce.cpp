#include "device/isa/reduction/tensor_scalar_reduce.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/instruction/vector_accumulator.h"

namespace neuron_sim {
namespace {

using enum TensorScalarReduce::OperandIndex;
using enum TensorScalarReduce::AttributeIndex;

constexpr std::string_view kName = "tensor_scalar_reduce";

constexpr auto kOperands = operand_table<TensorScalarReduce>();
constexpr auto kAttributes = attribute_table<TensorScalarReduce>();

template <typename Owner>  // Draft or Instance
ScalarStage stage(const Owner& owner) {
  return {owner.attribute(kOp0).template as<AluOp>(), owner.attribute(kConstant0).real(),
          owner.attribute(kReverse0).flag()};
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const ScalarStage first = stage(draft);
  const auto command = draft.attribute(kReduceCommand).as<ReduceCommand>();
  checks::vector_operator(kName, "op0", first.op, Arity::kAny);
  checks::reduce_operator(
      kName, draft.attribute(kReduceOp).as<AluOp>(),
      {AluOp::kAdd, AluOp::kSubtract, AluOp::kMultiply, AluOp::kMaximum, AluOp::kMinimum});
  checks::reduce_command(
      kName, command,
      {ReduceCommand::kResetReduce, ReduceCommand::kReduce, ReduceCommand::kLoadReduce});
  const View& data = draft.operand(kData);
  const View& operand0 = draft.operand(kOperand0);
  checks::source_and_dst(kName, "data", data, draft.operand(kDst), draft.engine, architecture);
  checks::unary_operand(kName, "operand0", operand0, first);
  checks::fp32_per_partition(kName, "operand0", operand0, data, draft.engine, architecture);
  checks::initial_value(kName, "reduce_init", draft.operand(kReduceInit),
                        draft.attribute(kConstantInit).real(), command, data, draft.engine,
                        architecture);
  checks::reduce_result(kName, draft.operand(kReduceRes), data, draft.engine, architecture);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const ScalarStage first = stage(instance);
  const Accumulation accumulation{instance.attribute(kReduceCommand).as<ReduceCommand>(),
                                  instance.attribute(kReduceOp).as<AluOp>(),
                                  instance.attribute(kNegate).flag()};
  const double constant_init = instance.attribute(kConstantInit).real();
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float operand0 = scalar_operand(instance.operand(kOperand0), first.constant, p);
    const float initial = scalar_operand(instance.operand(kReduceInit), constant_init, p);
    const float* data = read_row(instance.operand(kData), p, scratch.first);
    float* result = row_target(dst, p, scratch.result);
    map_row(first, data, operand0, result, count);
    write_row(dst, p, result);
    accumulate(accumulation, instance.operand(kAccumulator), instance.operand(kReduceRes), p,
               initial, result, count);
  }
}

/// The documented cost includes reading the registers
/// (docs/hardware_facts.md#tensor_scalar_reduce).
Demand demand(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  Demand result = elementwise::demand(RateClass::kOneInput, data, {&draft.operand(kDst), &data});
  result.steps[0].pointer_operand =
      draft.operand(kOperand0).present() || draft.operand(kReduceInit).present();
  result.steps[0].reads_accumulator = draft.operand(kReduceRes).present();
  return result;
}

}  // namespace

Draft TensorScalarReduce::draft() const {
  const View accumulator = vector_accumulator(reduce_command, reduce_res, data.partitions());
  Draft draft = draft_of(kTensorScalarReduce, *this);
  draft.operands[kAccumulator] = accumulator;
  return draft;
}

constinit const InstructionType kTensorScalarReduce = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
