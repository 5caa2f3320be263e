#include "device/isa/reduction/tensor_scalar_cumulative.h"

#include <cstring>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/instruction/vector_accumulator.h"
#include "device/numerics/alu.h"
#include "device/numerics/reduction.h"

namespace neuron_sim {
namespace {

using enum TensorScalarCumulative::OperandIndex;
using enum TensorScalarCumulative::AttributeIndex;

constexpr std::string_view kName = "tensor_scalar_cumulative";

constexpr auto kOperands = operand_table<TensorScalarCumulative>();
constexpr auto kAttributes = attribute_table<TensorScalarCumulative>();

void check_dtype(std::string_view operand, const View& view) {
  switch (view.dtype()) {
    case Dtype::kBool:
    case Dtype::kTfloat32:
    case Dtype::kInt32:
    case Dtype::kUint32:
      checks::dtype_error(kName, operand, view,
                          "float32, bfloat16, float16, float8 or an integer of 8 or 16 bits");
    default: return;
  }
}

void check_op1(AluOp op) {
  switch (op) {
    case AluOp::kAdd:
    case AluOp::kSubtract:
    case AluOp::kMultiply:
    case AluOp::kMaximum:
    case AluOp::kMinimum: return;
    default:
      fail(text("operator op1 '", name(op), "' of '", kName,
                "' is not supported; expected add, subtract, multiply, maximum or minimum."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const ScalarStage first{draft.attribute(kOp0).as<AluOp>(), draft.attribute(kConstant0).real()};
  const auto command = draft.attribute(kReduceCommand).as<ReduceCommand>();
  checks::vector_operator(kName, "op0", first.op, Arity::kAny);
  check_op1(draft.attribute(kOp1).as<AluOp>());
  checks::reduce_command(
      kName, command,
      {ReduceCommand::kResetReduce, ReduceCommand::kReduce, ReduceCommand::kLoadReduce});
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  const View& imm0 = draft.operand(kImm0);
  checks::source_and_dst(kName, "src", src, dst, draft.engine, architecture);
  check_dtype("dst", dst);
  check_dtype("src", src);
  checks::unary_operand(kName, "imm0", imm0, first);
  checks::fp32_per_partition(kName, "imm0", imm0, src, draft.engine, architecture);
  checks::initial_value(kName, "imm1", draft.operand(kImm1), draft.attribute(kConstant1).real(),
                        command, src, draft.engine, architecture);
}

float start_value(const Instance& instance, int64_t partition) {
  switch (instance.attribute(kReduceCommand).as<ReduceCommand>()) {
    case ReduceCommand::kReduce: return read_scalar(instance.operand(kAccumulator), partition);
    case ReduceCommand::kLoadReduce:
      return scalar_operand(instance.operand(kImm1), instance.attribute(kConstant1).real(),
                            partition);
    default: return reduction_identity(instance.attribute(kOp1).as<AluOp>());
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const ScalarStage first{instance.attribute(kOp0).as<AluOp>(),
                          instance.attribute(kConstant0).real()};
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  alu::with_float_operator(instance.attribute(kOp1).as<AluOp>(), [&](auto function) {
    for (int64_t p = 0; p < dst.partitions; ++p) {
      float running = start_value(instance, p);
      const float imm0 = scalar_operand(instance.operand(kImm0), first.constant, p);
      const float* src = read_row(instance.operand(kSrc), p, scratch.first);
      float* result = row_target(dst, p, scratch.result);
      map_row(first, src, imm0, result, count);
      for (int64_t i = 0; i < count; ++i) result[i] = running = function(result[i], running);
      write_row(dst, p, result);
      std::memcpy(instance.operand(kAccumulator).partition(p), &running, sizeof running);
    }
  });
}

/// No cost is published; taken as that of tensor_tensor_scan, the other running instruction.
Demand demand(const Draft& draft, const Architecture&) {
  const View& src = draft.operand(kSrc);
  Demand result = elementwise::demand(RateClass::kScan, src, {&draft.operand(kDst), &src});
  result.steps[0].pointer_operand =
      draft.operand(kImm0).present() || draft.operand(kImm1).present();
  return result;
}

}  // namespace

Draft TensorScalarCumulative::draft() const {
  const View accumulator = vector_accumulator(ReduceCommand::kResetReduce, {}, src.partitions());
  Draft draft = draft_of(kTensorScalarCumulative, *this);
  draft.operands[kAccumulator] = accumulator;
  return draft;
}

constinit const InstructionType kTensorScalarCumulative = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
