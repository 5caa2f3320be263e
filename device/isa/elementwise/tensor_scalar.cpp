#include "device/isa/elementwise/tensor_scalar.h"

#include <cmath>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"

namespace neuron_sim {
namespace {

using enum TensorScalar::OperandIndex;
using enum TensorScalar::AttributeIndex;

constexpr std::string_view kName = "tensor_scalar";

constexpr auto kOperands = operand_table<TensorScalar>();
constexpr auto kAttributes = attribute_table<TensorScalar>();

template <typename Owner>  // Draft or Instance
ScalarStage stage(const Owner& owner, int index) {
  const int first = index * kPerStage;
  return {owner.attribute(kOp0 + first).template as<AluOp>(),
          owner.attribute(kConstant0 + first).real(), owner.attribute(kReverse0 + first).flag()};
}

bool absent_or(bool (*is_operator)(AluOp), AluOp op) {
  return op == AluOp::kNone || is_operator(op);
}

bool on_vector(AluOp op0, AluOp op1) {
  return absent_or(is_vector_operator, op0) && absent_or(is_vector_operator, op1);
}

bool on_gpsimd(AluOp op0, AluOp op1) {
  return absent_or(is_gpsimd_operator, op0) && absent_or(is_gpsimd_operator, op1);
}

/// (multiply), (add) and (multiply, add); with scalar_unary_operators every pair of the operators
/// that docs/hardware_facts.md#operators lists for the Scalar engine.
bool on_scalar(AluOp op0, AluOp op1, const Features& features) {
  const auto listed = [](AluOp op) {
    return op == AluOp::kAdd || op == AluOp::kMultiply || op == AluOp::kAbs ||
           op == AluOp::kRsqrt || op == AluOp::kReciprocal;
  };
  if (!features.scalar_tensor_ops) return false;
  if (features.scalar_unary_operators) {
    return listed(op0) && (op1 == AluOp::kNone || listed(op1));
  }
  if (op1 == AluOp::kNone) return op0 == AluOp::kMultiply || op0 == AluOp::kAdd;
  return op0 == AluOp::kMultiply && op1 == AluOp::kAdd;
}

EngineKind choose_engine(const Draft& draft, const Architecture& architecture) {
  const AluOp op0 = stage(draft, 0).op;
  const AluOp op1 = stage(draft, 1).op;
  if (on_vector(op0, op1)) return EngineKind::kVector;
  return on_scalar(op0, op1, architecture.features) ? EngineKind::kScalar : EngineKind::kGpSimd;
}

void check_engine(const Draft& draft, const Architecture& architecture) {
  const AluOp op0 = stage(draft, 0).op;
  const AluOp op1 = stage(draft, 1).op;
  const std::string form = text("tensor_scalar of (", name(op0), ", ", name(op1), ")");
  std::string engines;
  const auto allow = [&](EngineKind engine, bool allowed) {
    if (allowed) engines += text(engines.empty() ? "" : ", ", name(engine));
    return allowed && draft.engine == engine;
  };
  // One | after the other, so that the list is complete.
  const bool found =
      static_cast<int>(allow(EngineKind::kVector, on_vector(op0, op1))) |
      static_cast<int>(allow(EngineKind::kScalar, on_scalar(op0, op1, architecture.features))) |
      static_cast<int>(allow(EngineKind::kGpSimd, on_gpsimd(op0, op1)));
  if (found) return;
  if (engines.empty()) {
    fail(text("instruction '", form, "' runs on no engine of architecture ", architecture.name,
              ": no engine has both operators."));
  }
  fail(text("instruction '", form, "' cannot run on the ", name(draft.engine),
            " engine; architecture ", architecture.name, " has it on: ", engines, "."));
}

void check_operators(AluOp op0, AluOp op1) {
  if (op0 == AluOp::kNone) fail("operator op0 'none' of 'tensor_scalar' is not supported.");
  if (op1 != AluOp::kNone && is_bitwise(op0) != is_bitwise(op1)) {
    fail(text("operators op0 '", name(op0), "' and op1 '", name(op1),
              "' of 'tensor_scalar' must be both bitwise or both arithmetic."));
  }
}

void check_bitwise_dtype(const View& view, std::string_view operand, const View& dst, AluOp op) {
  if (is_integer(view.dtype()) && itemsize(view.dtype()) == itemsize(dst.dtype())) return;
  checks::dtype_error(kName, operand, view,
                      text("integers of one size for the bitwise operator ", name(op)));
}

void check_operand(const Draft& draft, int index, const Architecture& architecture) {
  const View& view = draft.operand(kOperand0 + index);
  const ScalarStage stage = neuron_sim::stage(draft, index);
  const std::string_view operand = kOperands[kOperand0 + index].name;
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::unary_operand(kName, operand, view, stage);
  if (!view.present()) {
    if (is_bitwise(stage.op) &&
        (stage.constant != std::floor(stage.constant) || std::abs(stage.constant) > UINT32_MAX)) {
      fail(text("constant ", stage.constant, " of '", operand, "' of 'tensor_scalar' must be a",
                " 32-bit integer for the bitwise operator ", name(stage.op), "."));
    }
    return;
  }
  if (stage.op == AluOp::kNone) {
    fail(text("operand '", operand, "' of 'tensor_scalar' is given, but its operator is not."));
  }
  checks::compute_operand(kName, operand, view, draft.engine, architecture);
  checks::per_partition(kName, operand, view, data);
  if (is_bitwise(stage.op)) return check_bitwise_dtype(view, operand, dst, stage.op);
  const bool exact =
      draft.engine == EngineKind::kGpSimd && elementwise::is_32bit_integer(data.dtype()) &&
      elementwise::is_32bit_integer(dst.dtype()) && elementwise::is_32bit_integer(view.dtype());
  if (view.dtype() != Dtype::kFloat32 && !exact) {
    checks::dtype_error(kName, operand, view,
                        "float32 (int32 and uint32 on GpSimd with int32 or uint32 data and dst)");
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  const AluOp op0 = stage(draft, 0).op;
  const AluOp op1 = stage(draft, 1).op;
  check_operators(op0, op1);
  check_engine(draft, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::source_and_dst(kName, "data", data, dst, draft.engine, architecture);
  if (is_bitwise(op0)) {
    check_bitwise_dtype(dst, "dst", dst, op0);
    check_bitwise_dtype(data, "data", dst, op0);
  }
  check_operand(draft, 0, architecture);
  check_operand(draft, 1, architecture);
}

bool is_integer_operand(const Access& operand, const ScalarStage& stage) {
  if (stage.op == AluOp::kNone) return true;
  if (!is_exact_on_integers(stage.op)) return false;
  if (operand.present()) return elementwise::is_32bit_integer(operand.dtype);
  return stage.constant == std::floor(stage.constant) && std::abs(stage.constant) < 0x1p53;
}

/// Bitwise operators, and int32/uint32 on GpSimd, compute on integers.
bool computes_integers(const Instance& instance) {
  if (is_bitwise(stage(instance, 0).op)) return true;
  return instance.engine == EngineKind::kGpSimd &&
         elementwise::is_32bit_integer(instance.operand(kDst).dtype) &&
         elementwise::is_32bit_integer(instance.operand(kData).dtype) &&
         is_integer_operand(instance.operand(kOperand0), stage(instance, 0)) &&
         is_integer_operand(instance.operand(kOperand1), stage(instance, 1));
}

/// Partition by partition: `operand(stage, p)` is the number of a stage, and map(stage, data,
/// number, result, count) computes a row. The two operations stay separate loops, so that no
/// compiler fuses them into one rounding.
template <typename OperandOf, typename Map>
void run_rows(const Instance& instance, const Access& dst, const Access& data, OperandOf operand,
              Map map) {
  const ScalarStage stages[] = {stage(instance, 0), stage(instance, 1)};
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  const RowReader read(data, scratch.first);
  const RowWriter writer(dst, scratch.result);
  for (int64_t p = 0; p < dst.partitions; ++p) {
    // Both before anything is written: dst may hold the operands.
    const auto operand0 = operand(0, p), operand1 = operand(1, p);
    float* const result = writer.target(p);
    map(stages[0], read(p), operand0, result, count);
    if (stages[1].op != AluOp::kNone) map(stages[1], result, operand1, result, count);
    writer.write(p, result);
  }
}

void run_floats(const Instance& instance) {
  const auto operand = [&](int index, int64_t partition) {
    return scalar_operand(instance.operand(kOperand0 + index),
                          instance.attribute(kConstant0 + index * kPerStage).real(), partition);
  };
  const auto map = [](const ScalarStage& stage, const float* data, float number, float* result,
                      int64_t count) { map_row(stage, data, number, result, count); };
  run_rows(instance, instance.operand(kDst), instance.operand(kData), operand, map);
}

void run_integers(const Instance& instance) {
  const Access &dst = instance.operand(kDst), &data = instance.operand(kData);
  const ScalarStage stages[] = {stage(instance, 0), stage(instance, 1)};
  RowScratch& scratch = row_scratch();
  const auto operand = [&](int index, int64_t partition) {
    const Access& access = instance.operand(kOperand0 + index);
    return access.present() ? read_integer_row(access, partition, scratch.second_integers)[0]
                            : static_cast<int64_t>(stages[index].constant);
  };
  const bool bitwise = is_bitwise(stages[0].op);
  // Between two arithmetic operators nothing wraps.
  if ((bitwise || stages[1].op == AluOp::kNone) && are_words(bitwise, {&dst, &data})) {
    return run_rows(instance, as_words(dst), as_words(data), operand, map_words);
  }
  const int64_t count = dst.elements();
  scratch.result_integers.resize(static_cast<size_t>(count));
  int64_t* result = scratch.result_integers.data();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const int64_t* row = read_integer_row(data, p, scratch.first_integers);
    const int64_t operand0 = operand(0, p);
    const int64_t operand1 = operand(1, p);
    map_row(stages[0], row, operand0, result, count);
    if (stages[1].op != AluOp::kNone) map_row(stages[1], result, operand1, result, count);
    write_integer_row(dst, p, result);
  }
}

void run(const Instance& instance) {
  computes_integers(instance) ? run_integers(instance) : run_floats(instance);
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  RateClass rate = elementwise::one_source_rate(draft.engine, data, dst);
  if (draft.engine == EngineKind::kGpSimd &&
      (stage(draft, 0).op == AluOp::kRsqrt || stage(draft, 1).op == AluOp::kRsqrt)) {
    rate = RateClass::kGpSimdRsqrt;
  }
  if (draft.engine == EngineKind::kVector && rate == RateClass::kOneInput &&
      data.memory() == MemoryKind::kSbuf && dst.memory() == MemoryKind::kSbuf) {
    rate = RateClass::kScalarOperand;
  }
  Demand result = elementwise::demand(rate, data, {&dst, &data});
  result.steps[0].pointer_operand =
      draft.operand(kOperand0).present() || draft.operand(kOperand1).present();
  return result;
}

}  // namespace

Draft TensorScalar::draft() const { return draft_of(kTensorScalar, *this); }

constinit const InstructionType kTensorScalar = as_stackable(
    as_elementwise({kName, kOperands, kAttributes, choose_engine, check, run, demand}));

}  // namespace neuron_sim
