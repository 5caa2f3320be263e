#include "device/isa/activation/activate2.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_accumulator.h"
#include "device/instruction/scalar_stage.h"
#include "device/instruction/vector_accumulator.h"

namespace neuron_sim {
namespace {

using enum Activate2::OperandIndex;
using enum Activate2::AttributeIndex;

constexpr std::string_view kName = "activate2";

constexpr auto kOperands = operand_table<Activate2>();
constexpr auto kAttributes = attribute_table<Activate2>();

template <typename Owner>  // Draft or Instance
ScalarStage stage(const Owner& owner, int index) {
  const int first = kOp0 + index * kPerStage;
  return {owner.attribute(first).template as<AluOp>(), owner.attribute(first + 1).real(),
          owner.attribute(first + 2).flag()};
}

void check_operators(AluOp op0, AluOp op1) {
  using enum AluOp;
  const bool alone = op0 == kMultiply || op0 == kAdd || op0 == kSubtract || op0 == kNone;
  const bool both = op0 == kMultiply && (op1 == kAdd || op1 == kSubtract);
  if (both || (op1 == kNone && alone)) return;
  fail(text("operators (", name(op0), ", ", name(op1),
            ") of 'activate2' are not supported; expected one of: (multiply, add), (multiply, "
            "subtract), (multiply, none), (add, none), (subtract, none), (none, none)."));
}

void check_immediate(const Draft& draft, int index, const Architecture& architecture) {
  const std::string_view operand = kOperands[kImmediate0 + index].name;
  const View& tile = draft.operand(kImmediate0 + index);
  const ScalarStage stage = neuron_sim::stage(draft, index);
  if (stage.op == AluOp::kNone && (tile.present() || stage.constant != 0 || stage.reverse)) {
    fail(text("'", operand, "' of 'activate2' is given, but op", index, " is not."));
  }
  if (!tile.present()) return;
  checks::compute_operand(kName, operand, tile, draft.engine, architecture);
  checks::per_partition(kName, operand, tile, draft.operand(kData));
}

void check_reduction(const Draft& draft, const Architecture& architecture) {
  const auto command = draft.attribute(kReduceCommand).as<ReduceCommand>();
  const auto op = draft.attribute(kReduceOp).as<AluOp>();
  checks::reduce_command(kName, command,
                         {ReduceCommand::kIdle, ReduceCommand::kReset, ReduceCommand::kReduce,
                          ReduceCommand::kResetReduce});
  if (op != AluOp::kNone || command != ReduceCommand::kIdle) {
    checks::reduce_operator(
        kName, op, {AluOp::kAdd, AluOp::kMaximum, AluOp::kMinimum, AluOp::kAbsMax, AluOp::kAbsMin});
  }
  checks::reduce_result(kName, draft.operand(kReduceRes), draft.operand(kData), draft.engine,
                        architecture);
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::generation(kName, 4, architecture);
  checks::engine(kName, draft.engine, {EngineKind::kScalar}, architecture);
  checks::source_and_dst(kName, "data", draft.operand(kData), draft.operand(kDst), draft.engine,
                         architecture);
  check_operators(stage(draft, 0).op, stage(draft, 1).op);
  check_immediate(draft, 0, architecture);
  check_immediate(draft, 1, architecture);
  const View& first = draft.operand(kImmediate0);
  const View& second = draft.operand(kImmediate1);
  if (first.present() && second.present() && first.dtype() != second.dtype()) {
    checks::dtype_error(kName, "imm1", second,
                        text(name(first.dtype()), ", the dtype of operand 'imm0'"));
  }
  const double slope = draft.attribute(kSlope).real();
  if (slope != 0 && draft.attribute(kOp).as<Activation>() != Activation::kPrelu) {
    fail(text("relu_param ", slope, " of 'activate2' is given, but op '",
              name(draft.attribute(kOp).as<Activation>()), "' has no slope."));
  }
  check_reduction(draft, architecture);
}

/// (data op0 imm0) op1 imm1 of one partition.
void compute_input(const Instance& instance, int64_t partition, const float* data, float* result,
                   int64_t count) {
  for (int index = 0; index < 2; ++index, data = result) {
    const ScalarStage stage = neuron_sim::stage(instance, index);
    if (stage.op == AluOp::kNone) {
      if (data != result) std::copy(data, data + count, result);
      continue;
    }
    const float operand =
        scalar_operand(instance.operand(kImmediate0 + index), stage.constant, partition);
    map_row(stage, data, operand, result, count);
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const auto op = instance.attribute(kOp).as<Activation>();
  const auto slope = static_cast<float>(instance.attribute(kSlope).real());
  const ScalarReduction reduction{instance.attribute(kReduceCommand).as<ReduceCommand>(),
                                  instance.attribute(kReduceOp).as<AluOp>()};
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float* data = read_row(instance.operand(kData), p, scratch.first);
    float* result = row_target(dst, p, scratch.result);
    compute_input(instance, p, data, result, count);
    apply(op, result, result, count, slope);
    accumulate(reduction, instance.operand(kAccumulator), instance.operand(kReduceRes), p, result,
               count);
    write_row(dst, p, result);
  }
}

/// Assumed to cost as much as activation: the vendor does not say.
Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const RateClass rate = elementwise::one_source_rate(draft.engine, data, dst);
  Demand result = elementwise::demand(rate, data, {&dst, &data});
  Step& step = result.steps[0];
  step.pointer_operand =
      draft.operand(kImmediate0).present() || draft.operand(kImmediate1).present();
  step.reads_accumulator = draft.operand(kReduceRes).present();
  step.table = static_cast<int8_t>(table_of(draft.attribute(kOp).as<Activation>()));
  return result;
}

}  // namespace

Draft Activate2::draft() const {
  const View registers = scalar_accumulator(reduce_command, reduce_res, data.partitions());
  Draft draft = draft_of(kActivate2, *this);
  draft.operands[kAccumulator] = registers;
  return draft;
}

constinit const InstructionType kActivate2 = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kScalar>, check, run, demand};

}  // namespace neuron_sim
