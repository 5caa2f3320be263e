#include "device/isa/elementwise/scalar_tensor_tensor.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

using enum ScalarTensorTensor::OperandIndex;
using enum ScalarTensorTensor::AttributeIndex;

constexpr std::string_view kName = "scalar_tensor_tensor";

constexpr auto kOperands = operand_table<ScalarTensorTensor>();
constexpr auto kAttributes = attribute_table<ScalarTensorTensor>();

template <typename Owner>  // Draft or Instance
ScalarStage stage(const Owner& owner) {
  return {owner.attribute(kOp0).template as<AluOp>(), owner.attribute(kConstant0).real(),
          owner.attribute(kReverse0).flag()};
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const ScalarStage first = stage(draft);
  checks::vector_operator(kName, "op0", first.op, Arity::kAny);
  checks::vector_operator(kName, "op1", draft.attribute(kOp1).as<AluOp>(), Arity::kTwo);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const View& operand0 = draft.operand(kOperand0);
  const View& operand1 = draft.operand(kOperand1);
  checks::source_and_dst(kName, "data", data, dst, draft.engine, architecture);
  checks::source_and_dst(kName, "operand1", operand1, dst, draft.engine, architecture);
  checks::not_both_in_psum(kName, "data", data, "operand1", operand1, architecture);
  checks::unary_operand(kName, "operand0", operand0, first);
  if (!operand0.present()) return;
  checks::compute_operand(kName, "operand0", operand0, draft.engine, architecture);
  checks::per_partition(kName, "operand0", operand0, data);
  if (!is_float(operand0.dtype())) {
    checks::dtype_error(kName, "operand0", operand0, "a floating dtype");
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const ScalarStage first = stage(instance);
  const bool reverse1 = instance.attribute(kReverse1).flag();
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  scratch.third.resize(static_cast<size_t>(count));
  float* between = scratch.third.data();  // not in dst, which may be operand1
  const RowReader data_row(instance.operand(kData), scratch.first);
  const RowReader second_row(instance.operand(kOperand1), scratch.second);
  const RowWriter writer(dst, scratch.result);
  alu::with_float_operator(instance.attribute(kOp1).as<AluOp>(), [&](auto function) {
    for (int64_t p = 0; p < dst.partitions; ++p) {
      const float operand0 = scalar_operand(instance.operand(kOperand0), first.constant, p);
      map_row(first, data_row(p), operand0, between, count);
      const float* const second = second_row(p);
      float* const result = writer.target(p);
      if (reverse1) {
        for (int64_t i = 0; i < count; ++i) result[i] = function(second[i], between[i]);
      } else {
        for (int64_t i = 0; i < count; ++i) result[i] = function(between[i], second[i]);
      }
      writer.write(p, result);
    }
  });
}

/// One fast form is documented (docs/hardware_facts.md#scalar_tensor_tensor).
Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const View& operand1 = draft.operand(kOperand1);
  const bool fast = data.dtype() == Dtype::kBfloat16 && operand1.dtype() == Dtype::kBfloat16 &&
                    draft.attribute(kOp0).as<AluOp>() == AluOp::kSubtract &&
                    draft.attribute(kOp1).as<AluOp>() == AluOp::kMultiply &&
                    data.free_elements() % 2 == 0;
  const View& main = operand1.memory() == MemoryKind::kPsum ? operand1 : data;
  Demand result = elementwise::demand(fast ? RateClass::kTwoInputsBf16 : RateClass::kTwoInputs,
                                      main, {&dst, &data, &operand1});
  result.steps[0].pointer_operand = draft.operand(kOperand0).present();
  return result;
}

}  // namespace

Draft ScalarTensorTensor::draft() const { return draft_of(kScalarTensorTensor, *this); }

constinit const InstructionType kScalarTensorTensor = as_elementwise(
    {kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand});

}  // namespace neuron_sim
