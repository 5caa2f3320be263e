#include "device/isa/tensor_scalar.h"

#include <cmath>

#include "device/base/errors.h"
#include "device/isa/alu.h"
#include "device/isa/checks.h"
#include "device/isa/elementwise.h"
#include "device/isa/rows.h"

namespace neuron_sim {
namespace {

enum Operand { kDst, kData, kOperand0, kOperand1 };
enum Attributes { kOp0, kConstant0, kReverse0, kOp1, kConstant1, kReverse1, kPerStage = kOp1 };

constexpr std::string_view kName = "tensor_scalar";

constexpr OperandField kOperands[] = {{"dst", Direction::kWrite},
                                      {"data", Direction::kRead},
                                      {"operand0", Direction::kRead, true},
                                      {"operand1", Direction::kRead, true}};
constexpr AttributeField kAttributes[] = {
    {"op0", AttributeKind::kAluOp},      {"constant0", AttributeKind::kReal},
    {"reverse0", AttributeKind::kFlag},  {"op1", AttributeKind::kAluOp},
    {"constant1", AttributeKind::kReal}, {"reverse1", AttributeKind::kFlag}};

/// One of the two operations.
struct Stage {
  AluOp op;
  double constant;
  bool reverse;
};

template <typename Owner>  // Draft or Instance
Stage stage(const Owner& owner, int index) {
  const int first = index * kPerStage;
  return {owner.attribute(kOp0 + first).template as<AluOp>(),
          owner.attribute(kConstant0 + first).real(), owner.attribute(kReverse0 + first).flag()};
}

EngineKind choose_engine(const Draft& draft, const Architecture&) {
  const bool power = stage(draft, 0).op == AluOp::kPower || stage(draft, 1).op == AluOp::kPower;
  return power ? EngineKind::kGpSimd : EngineKind::kVector;
}

/// (multiply), (add) and (multiply, add), the forms the Scalar engine has.
bool is_scalar_form(AluOp op0, AluOp op1) {
  if (op1 == AluOp::kNone) return op0 == AluOp::kMultiply || op0 == AluOp::kAdd;
  return op0 == AluOp::kMultiply && op1 == AluOp::kAdd;
}

bool is_gpsimd_operator(AluOp op) {
  return op == AluOp::kNone || op == AluOp::kAdd || op == AluOp::kSubtract ||
         op == AluOp::kMultiply || op == AluOp::kPower;
}

void check_engine(const Draft& draft, const Architecture& architecture) {
  const AluOp op0 = stage(draft, 0).op;
  const AluOp op1 = stage(draft, 1).op;
  const std::string form = text("tensor_scalar of (", name(op0), ", ", name(op1), ")");
  const bool vector = op0 != AluOp::kPower && op1 != AluOp::kPower;
  const bool scalar = architecture.features.scalar_tensor_ops && is_scalar_form(op0, op1);
  const bool gpsimd = is_gpsimd_operator(op0) && is_gpsimd_operator(op1);
  if (!vector && !gpsimd) {
    fail(text("instruction '", form, "' runs on no engine of architecture ", architecture.name,
              ": power needs GpSimd, the other operator Vector."));
  }
  if ((draft.engine == EngineKind::kVector && vector) ||
      (draft.engine == EngineKind::kScalar && scalar) ||
      (draft.engine == EngineKind::kGpSimd && gpsimd)) {
    return;
  }
  if (!vector) checks::engine(form, draft.engine, {EngineKind::kGpSimd}, architecture);
  if (scalar) {
    checks::engine(form, draft.engine,
                   {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}, architecture);
  }
  if (gpsimd) {
    checks::engine(form, draft.engine, {EngineKind::kVector, EngineKind::kGpSimd}, architecture);
  }
  checks::engine(form, draft.engine, {EngineKind::kVector}, architecture);
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
  const Stage stage = neuron_sim::stage(draft, index);
  const std::string_view operand = kOperands[kOperand0 + index].name;
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  if (!view.present()) {
    if (is_bitwise(stage.op) &&
        (stage.constant != std::floor(stage.constant) || std::abs(stage.constant) > UINT32_MAX)) {
      fail(text("constant ", stage.constant, " of '", operand, "' of 'tensor_scalar' must be a",
                " 32-bit integer for the bitwise operator ", name(stage.op), "."));
    }
    return;
  }
  if (stage.op == AluOp::kNone) {
    fail(text("operand '", operand, "' of 'tensor_scalar' is given, but its operator is none."));
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

bool is_integer_operand(const Access& operand, const Stage& stage) {
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

template <typename Value, typename Function>
void map_row(Function function, bool reverse, const Value* data, Value operand, Value* result,
             int64_t count) {
  if (reverse) {
    for (int64_t i = 0; i < count; ++i) result[i] = function(operand, data[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) result[i] = function(data[i], operand);
  }
}

void map_floats(const Stage& stage, const float* data, float operand, float* result,
                int64_t count) {
  alu::with_float_operator(stage.op, [&](auto function) {
    map_row(function, stage.reverse, data, operand, result, count);
  });
}

/// The two operations stay separate loops, so that no compiler fuses them into one rounding.
void run_floats(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Stage stages[] = {stage(instance, 0), stage(instance, 1)};
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  auto operand = [&](int index, int64_t partition) {
    const Access& access = instance.operand(kOperand0 + index);
    return access.present() ? read_scalar(access, partition)
                            : static_cast<float>(stages[index].constant);
  };
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float operand0 = operand(0, p);
    const float operand1 = stages[1].op == AluOp::kNone ? 0.0F : operand(1, p);
    const float* data = read_row(instance.operand(kData), p, scratch.first);
    float* result = row_target(dst, p, scratch.result);
    map_floats(stages[0], data, operand0, result, count);
    if (stages[1].op != AluOp::kNone) map_floats(stages[1], result, operand1, result, count);
    write_row(dst, p, result);
  }
}

void map_integers(const Stage& stage, const int64_t* data, int64_t operand, int64_t* result,
                  int64_t count) {
  alu::with_integer_operator(stage.op, [&](auto function) {
    map_row(function, stage.reverse, data, operand, result, count);
  });
}

void run_integers(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Stage stages[] = {stage(instance, 0), stage(instance, 1)};
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  scratch.result_integers.resize(static_cast<size_t>(count));
  int64_t* result = scratch.result_integers.data();
  auto operand = [&](int index, int64_t partition) {
    const Access& access = instance.operand(kOperand0 + index);
    return access.present() ? read_integer_row(access, partition, scratch.second_integers)[0]
                            : static_cast<int64_t>(stages[index].constant);
  };
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const int64_t* data = read_integer_row(instance.operand(kData), p, scratch.first_integers);
    map_integers(stages[0], data, operand(0, p), result, count);
    if (stages[1].op != AluOp::kNone) {
      map_integers(stages[1], result, operand(1, p), result, count);
    }
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
  if (draft.engine == EngineKind::kVector && data.dtype() == Dtype::kFloat32 &&
      dst.dtype() == Dtype::kFloat32 && data.memory() == MemoryKind::kSbuf &&
      dst.memory() == MemoryKind::kSbuf) {
    rate = RateClass::kScalarOperandFp32;
  }
  Demand result = elementwise::demand(rate, data, {&dst, &data});
  result.steps[0].pointer_operand =
      draft.operand(kOperand0).present() || draft.operand(kOperand1).present();
  return result;
}

}  // namespace

Draft TensorScalar::draft() const {
  return make_draft(kTensorScalar, engine, {&dst, &data, &operand0, &operand1},
                    {Attribute::of(op0), Attribute::of(constant0), Attribute::of(reverse0),
                     Attribute::of(op1), Attribute::of(constant1), Attribute::of(reverse1)});
}

constinit const InstructionType kTensorScalar = {kName, kOperands, kAttributes, choose_engine,
                                                 check, run,       demand};

}  // namespace neuron_sim
