#include "device/isa/reduction/tensor_tensor_scan.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

using enum TensorTensorScan::OperandIndex;
using enum TensorTensorScan::AttributeIndex;

constexpr std::string_view kName = "tensor_tensor_scan";

constexpr auto kOperands = operand_table<TensorTensorScan>();
constexpr auto kAttributes = attribute_table<TensorTensorScan>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  checks::vector_operator(kName, "op0", draft.attribute(kOp0).as<AluOp>(), Arity::kTwo);
  checks::vector_operator(kName, "op1", draft.attribute(kOp1).as<AluOp>(), Arity::kTwo);
  const View& dst = draft.operand(kDst);
  const View& data0 = draft.operand(kData0);
  const View& data1 = draft.operand(kData1);
  const View& initial = draft.operand(kInitial);
  checks::source_and_dst(kName, "data0", data0, dst, draft.engine, architecture);
  checks::source_and_dst(kName, "data1", data1, dst, draft.engine, architecture);
  checks::not_both_in_psum(kName, "data0", data0, "data1", data1, architecture);
  if (!initial.present()) return;
  checks::compute_operand(kName, "initial", initial, draft.engine, architecture);
  checks::per_partition(kName, "initial", initial, data0);
}

/// The operators with their orders. An element needs its predecessor, so little is gained by
/// choosing functors outside the loop, except for the common cases: the linear recurrence, and one
/// operator twice.
struct Recurrence {
  AluOp op0, op1;
  bool reverse0, reverse1;

  void scan(const float* data0, const float* data1, float running, float* result,
            int64_t count) const {
    if (op0 == AluOp::kMultiply && op1 == AluOp::kAdd) {
      for (int64_t i = 0; i < count; ++i) {
        const float product = data0[i] * running;
        result[i] = running = product + data1[i];
      }
      return;
    }
    if (op0 == op1 && !reverse0 && !reverse1) {
      alu::with_float_operator(op0, [&](auto function) {
        for (int64_t i = 0; i < count; ++i) {
          result[i] = running = function(function(data0[i], running), data1[i]);
        }
      });
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      running = reverse0 ? apply(op0, running, data0[i]) : apply(op0, data0[i], running);
      running = reverse1 ? apply(op1, data1[i], running) : apply(op1, running, data1[i]);
      result[i] = running;
    }
  }
};

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Recurrence recurrence{
      instance.attribute(kOp0).as<AluOp>(), instance.attribute(kOp1).as<AluOp>(),
      instance.attribute(kReverse0).flag(), instance.attribute(kReverse1).flag()};
  const double constant = instance.attribute(kConstant).real();
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float initial = scalar_operand(instance.operand(kInitial), constant, p);
    const float* data0 = read_row(instance.operand(kData0), p, scratch.first);
    const float* data1 = read_row(instance.operand(kData1), p, scratch.second);
    float* result = row_target(dst, p, scratch.result);
    recurrence.scan(data0, data1, initial, result, count);
    write_row(dst, p, result);
  }
}

/// 2 cycles per element always (docs/hardware_facts.md#tensor_tensor_scan).
Demand demand(const Draft& draft, const Architecture&) {
  const View& data0 = draft.operand(kData0);
  const View& data1 = draft.operand(kData1);
  const View& main = data1.memory() == MemoryKind::kPsum ? data1 : data0;
  Demand result =
      elementwise::demand(RateClass::kScan, main, {&draft.operand(kDst), &data0, &data1});
  result.steps[0].pointer_operand = draft.operand(kInitial).present();
  return result;
}

}  // namespace

Draft TensorTensorScan::draft() const { return draft_of(kTensorTensorScan, *this); }

constinit const InstructionType kTensorTensorScan = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
