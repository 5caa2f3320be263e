#include "device/isa/reduction/select_reduce.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/instruction/vector_accumulator.h"

namespace neuron_sim {
namespace {

using enum SelectReduce::OperandIndex;
using enum SelectReduce::AttributeIndex;

constexpr std::string_view kName = "select_reduce";

constexpr auto kOperands = operand_table<SelectReduce>();
constexpr auto kAttributes = attribute_table<SelectReduce>();

void check_dtypes(const Draft& draft) {
  const View& on_true = draft.operand(kOnTrue);
  const View& predicate = draft.operand(kPredicate);
  const View& result = draft.operand(kReduceRes);
  if (on_true.dtype() == Dtype::kTfloat32 || elementwise::is_32bit_integer(on_true.dtype())) {
    checks::dtype_error(kName, "on_true", on_true, "any dtype but tfloat32, int32 and uint32");
  }
  if (!is_integer(predicate.dtype()) || predicate.dtype() == Dtype::kBool ||
      elementwise::is_32bit_integer(predicate.dtype())) {
    checks::dtype_error(kName, "predicate", predicate, "int8, uint8, int16 or uint16");
  }
  if (result.present() && !is_float(result.dtype())) {
    checks::dtype_error(kName, "reduce_res", result, "a floating dtype");
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  checks::reduce_operator(kName, draft.attribute(kReduceOp).as<AluOp>(), {AluOp::kMaximum});
  checks::reduce_command(
      kName, draft.attribute(kReduceCommand).as<ReduceCommand>(),
      {ReduceCommand::kIdle, ReduceCommand::kReduce, ReduceCommand::kResetReduce});
  const View& dst = draft.operand(kDst);
  const View& predicate = draft.operand(kPredicate);
  const View& on_true = draft.operand(kOnTrue);
  const View& on_false = draft.operand(kOnFalse);
  checks::source_and_dst(kName, "on_true", on_true, dst, draft.engine, architecture);
  checks::source_and_dst(kName, "predicate", predicate, dst, draft.engine, architecture);
  checks::not_both_in_psum(kName, "on_true", on_true, "predicate", predicate, architecture);
  checks::reduce_result(kName, draft.operand(kReduceRes), dst, draft.engine, architecture);
  check_dtypes(draft);
  if (!on_false.present()) return;
  checks::compute_operand(kName, "on_false", on_false, draft.engine, architecture);
  checks::per_partition(kName, "on_false", on_false, dst);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Accumulation accumulation{instance.attribute(kReduceCommand).as<ReduceCommand>(),
                                  instance.attribute(kReduceOp).as<AluOp>()};
  const double constant = instance.attribute(kConstantFalse).real();
  const bool wanted = !instance.attribute(kReverse).flag();
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float on_false = scalar_operand(instance.operand(kOnFalse), constant, p);
    const float* on_true = read_row(instance.operand(kOnTrue), p, scratch.first);
    const float* predicate = read_row(instance.operand(kPredicate), p, scratch.second);
    float* result = row_target(dst, p, scratch.result);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = (predicate[i] != 0) == wanted ? on_true[i] : on_false;
    }
    write_row(dst, p, result);
    accumulate(accumulation, instance.operand(kAccumulator), instance.operand(kReduceRes), p, 0,
               result, count);
  }
}

/// No cost is published; two inputs, as tensor_copy_predicated
/// (docs/hardware_facts.md#select_reduce).
Demand demand(const Draft& draft, const Architecture&) {
  const View& predicate = draft.operand(kPredicate);
  const View& on_true = draft.operand(kOnTrue);
  const bool psum =
      on_true.memory() == MemoryKind::kPsum || predicate.memory() == MemoryKind::kPsum;
  const View& main = predicate.memory() == MemoryKind::kPsum ? predicate : on_true;
  Demand result = elementwise::demand(psum ? RateClass::kTwoInputsPsum : RateClass::kTwoInputs,
                                      main, {&draft.operand(kDst), &predicate, &on_true});
  result.steps[0].pointer_operand = draft.operand(kOnFalse).present();
  result.steps[0].reads_accumulator = draft.operand(kReduceRes).present();
  return result;
}

}  // namespace

Draft SelectReduce::draft() const {
  const View accumulator = vector_accumulator(reduce_command, reduce_res, dst.partitions());
  Draft draft = draft_of(kSelectReduce, *this);
  draft.operands[kAccumulator] = accumulator;
  return draft;
}

constinit const InstructionType kSelectReduce = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
