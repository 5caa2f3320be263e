#include "device/isa/reduction/range_select.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/instruction/vector_accumulator.h"
#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

using enum RangeSelect::OperandIndex;
using enum RangeSelect::AttributeIndex;

constexpr std::string_view kName = "range_select";
constexpr int64_t kIndexLimit = int64_t{1} << 24;  // exact in fp32

constexpr auto kOperands = operand_table<RangeSelect>();
constexpr auto kAttributes = attribute_table<RangeSelect>();

void check_comparison(std::string_view parameter, AluOp op) {
  switch (op) {
    case AluOp::kEqual:
    case AluOp::kLess:
    case AluOp::kLessEqual:
    case AluOp::kGreater:
    case AluOp::kGreaterEqual: return;
    default:
      fail(text("operator ", parameter, " '", name(op), "' of '", kName,
                "' is not supported; expected equal, less, less_equal, greater or greater_equal."));
  }
}

void check_values(const Draft& draft) {
  const double on_false = draft.attribute(kOnFalse).real();  // fp32 in the instruction
  if (static_cast<float>(on_false) != std::numeric_limits<float>::lowest()) {
    fail(text("on_false_value ", on_false, " of '", kName,
              "' is not supported; it must be FP32_MIN, -3.4028235e+38."));
  }
  const int64_t start = draft.attribute(kRangeStart).integer();
  const int64_t elements = draft.operand(kOnTrue).free_elements();
  if (start <= -kIndexLimit || start > kIndexLimit - elements) {
    fail(text("range_start ", start, " of '", kName, "' with ", elements,
              " elements per partition gives indices that are not within 2^24."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::generation(kName, 3, architecture);
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  check_comparison("comp_op0", draft.attribute(kComp0).as<AluOp>());
  check_comparison("comp_op1", draft.attribute(kComp1).as<AluOp>());
  checks::reduce_operator(kName, draft.attribute(kReduceOp).as<AluOp>(), {AluOp::kMaximum});
  checks::reduce_command(kName, draft.attribute(kReduceCommand).as<ReduceCommand>(),
                         {ReduceCommand::kIdle, ReduceCommand::kReset, ReduceCommand::kReduce,
                          ReduceCommand::kResetReduce});
  const View& dst = draft.operand(kDst);
  const View& on_true = draft.operand(kOnTrue);
  checks::source_and_dst(kName, "on_true_tile", on_true, dst, draft.engine, architecture);
  if (!is_float(on_true.dtype())) {
    checks::dtype_error(kName, "on_true_tile", on_true, "a floating dtype");
  }
  for (const int index : {kBound0, kBound1}) {
    const View& bound = draft.operand(index);
    checks::compute_operand(kName, kOperands[index].name, bound, draft.engine, architecture);
    checks::fp32_per_partition(kName, kOperands[index].name, bound, dst, draft.engine,
                               architecture);
  }
  checks::reduce_result(kName, draft.operand(kReduceRes), dst, draft.engine, architecture);
  check_values(draft);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Accumulation accumulation{instance.attribute(kReduceCommand).as<ReduceCommand>(),
                                  instance.attribute(kReduceOp).as<AluOp>()};
  const ScalarStage first{instance.attribute(kComp0).as<AluOp>()};
  const ScalarStage second{instance.attribute(kComp1).as<AluOp>()};
  const int64_t start = instance.attribute(kRangeStart).integer();
  const auto on_false = static_cast<float>(instance.attribute(kOnFalse).real());
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  const auto size = static_cast<size_t>(count);
  std::vector<float> indices(size), within0(size), within1(size);
  for (int64_t i = 0; i < count; ++i)
    indices[static_cast<size_t>(i)] = static_cast<float>(start + i);
  for (int64_t p = 0; p < dst.partitions; ++p) {
    map_row(first, indices.data(), read_scalar(instance.operand(kBound0), p), within0.data(),
            count);
    map_row(second, indices.data(), read_scalar(instance.operand(kBound1), p), within1.data(),
            count);
    const float* on_true = read_row(instance.operand(kOnTrue), p, scratch.first);
    float* result = row_target(dst, p, scratch.result);
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      result[i] = within0[at] * within1[at] != 0 ? on_true[i] : on_false;
    }
    write_row(dst, p, result);
    accumulate(accumulation, instance.operand(kAccumulator), instance.operand(kReduceRes), p, 0,
               result, count);
  }
}

/// One cycle per element, whether reduced or not (docs/hardware_facts.md#range_select).
Demand demand(const Draft& draft, const Architecture&) {
  const View& on_true = draft.operand(kOnTrue);
  Demand result =
      elementwise::demand(RateClass::kOneInput, on_true, {&draft.operand(kDst), &on_true});
  result.steps[0].pointer_operand = true;
  return result;
}

}  // namespace

Draft RangeSelect::draft() const {
  const View accumulator = vector_accumulator(reduce_command, reduce_res, dst.partitions());
  Draft draft = draft_of(kRangeSelect, *this);
  draft.operands[kAccumulator] = accumulator;
  return draft;
}

constinit const InstructionType kRangeSelect = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
