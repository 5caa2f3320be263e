#include "device/isa/elementwise/tensor_tensor.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/row_loops.h"
#include "device/instruction/short_runs.h"
#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

using enum TensorTensor::OperandIndex;
using enum TensorTensor::AttributeIndex;

constexpr std::string_view kName = "tensor_tensor";

constexpr auto kOperands = operand_table<TensorTensor>();
constexpr auto kAttributes = attribute_table<TensorTensor>();

bool all_32bit_integers(Dtype dst, Dtype data1, Dtype data2) {
  return elementwise::is_32bit_integer(dst) && elementwise::is_32bit_integer(data1) &&
         elementwise::is_32bit_integer(data2);
}

bool any_in_psum(const Draft& draft) {
  for (int i = kDst; i <= kData2; ++i) {
    if (draft.operand(i).memory() == MemoryKind::kPsum) return true;
  }
  return false;
}

EngineKind choose_engine(const Draft& draft, const Architecture&) {
  const AluOp op = draft.attribute(kOp).as<AluOp>();
  if (op == AluOp::kPower) return EngineKind::kGpSimd;
  const bool exact = is_exact_on_integers(op) && !is_bitwise(op) &&
                     all_32bit_integers(draft.operand(kDst).dtype(), draft.operand(kData1).dtype(),
                                        draft.operand(kData2).dtype());
  return exact && !any_in_psum(draft) ? EngineKind::kGpSimd : EngineKind::kVector;
}

void check_dtypes(const Draft& draft, AluOp op) {
  if (!is_bitwise(op)) return;
  const int size = itemsize(draft.operand(kDst).dtype());
  for (int i = kDst; i <= kData2; ++i) {
    const View& view = draft.operand(i);
    if (is_integer(view.dtype()) && itemsize(view.dtype()) == size) continue;
    checks::dtype_error(kName, kOperands[i].name, view,
                        text("integers of one size for the bitwise operator ", name(op)));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  const AluOp op = draft.attribute(kOp).as<AluOp>();
  if (op == AluOp::kNone || is_unary(op)) {
    fail(text("operator '", name(op), "' of '", kName,
              "' is not supported; it needs an operator on two operands."));
  }
  if (op == AluOp::kPower) {
    checks::engine("tensor_tensor of power", draft.engine, {EngineKind::kGpSimd}, architecture);
  } else if (is_bitwise(op)) {
    checks::engine("tensor_tensor of bitwise operators", draft.engine, {EngineKind::kVector},
                   architecture);
  } else {
    checks::engine(kName, draft.engine, {EngineKind::kVector, EngineKind::kGpSimd}, architecture);
  }
  for (int i = kDst; i <= kData2; ++i) {
    checks::compute_operand(kName, kOperands[i].name, draft.operand(i), draft.engine, architecture);
  }
  const View& dst = draft.operand(kDst);
  const View& data1 = draft.operand(kData1);
  const View& data2 = draft.operand(kData2);
  checks::same_partitions(kName, "data1", data1, "data2", data2);
  checks::same_free_elements(kName, "data1", data1, "data2", data2);
  checks::same_partitions(kName, "dst", dst, "data1", data1);
  checks::same_free_elements(kName, "dst", dst, "data1", data1);
  checks::not_both_in_psum(kName, "data1", data1, "data2", data2, architecture);
  check_dtypes(draft, op);
}

void run_integers(const Instance& instance, AluOp op) {
  const Access& dst = instance.operand(kDst);
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  scratch.result_integers.resize(static_cast<size_t>(count));
  int64_t* result = scratch.result_integers.data();
  alu::with_integer_operator(op, [&](auto function) {
    for (int64_t p = 0; p < dst.partitions; ++p) {
      const int64_t* first = read_integer_row(instance.operand(kData1), p, scratch.first_integers);
      const int64_t* second =
          read_integer_row(instance.operand(kData2), p, scratch.second_integers);
      for (int64_t i = 0; i < count; ++i) result[i] = function(first[i], second[i]);
      write_integer_row(dst, p, result);
    }
  });
}

/// with_operator(body) calls body(functor on two floats).
template <typename WithOperator>
void run_rows(const Access& dst, const Access& data1, const Access& data2,
              WithOperator with_operator) {
  const bool floats = data1.dtype == Dtype::kFloat32 && data2.dtype == Dtype::kFloat32 &&
                      dst.dtype == Dtype::kFloat32;
  with_operator([&](auto function) {
    if (floats && map_short_runs<2>(dst, {&data1, &data2}, function)) return;
    RowScratch& scratch = row_scratch();
    const int64_t count = dst.elements();
    const RowReader first_row(data1, scratch.first);
    const RowReader second_row(data2, scratch.second);
    const RowWriter writer(dst, scratch.result);
    const bool repeats = second_row.repeats();
    const auto map = [&](const RowPairs& rows) {
      repeats ? map_rows<true>(rows, function) : map_rows<false>(rows, function);
    };
    const bool in_place = first_row.in_place() && second_row.in_place() && writer.in_place();
    if (in_place && !first_row.repeats()) {
      return map({first_row.rows(), second_row.rows(), writer.rows(), dst.partitions, count});
    }
    for (int64_t p = 0; p < dst.partitions; ++p) {
      const float repeated = repeats ? read_scalar(data2, p) : 0;
      float* const result = writer.target(p);
      map({{first_row(p)}, {repeats ? &repeated : second_row(p)}, {result}, 1, count});
      writer.write(p, result);
    }
  });
}

void run_words(const Instance& instance, AluOp op) {
  run_rows(as_words(instance.operand(kDst)), as_words(instance.operand(kData1)),
           as_words(instance.operand(kData2)), [op](auto body) {
             alu::with_integer_operator(op, [&](auto function) { body(alu::on_words(function)); });
           });
}

void run(const Instance& instance) {
  const AluOp op = instance.attribute(kOp).as<AluOp>();
  const Access &dst = instance.operand(kDst), &data1 = instance.operand(kData1),
               &data2 = instance.operand(kData2);
  const bool bitwise = is_bitwise(op);
  const bool exact = instance.engine == EngineKind::kGpSimd && is_exact_on_integers(op) &&
                     all_32bit_integers(dst.dtype, data1.dtype, data2.dtype);
  if (exact || bitwise) {
    const bool words = are_words(bitwise, {&dst, &data1, &data2});
    return words ? run_words(instance, op) : run_integers(instance, op);
  }
  run_rows(dst, data1, data2, [op](auto body) { alu::with_float_operator(op, body); });
}

/// Both inputs in SBUF (docs/hardware_facts.md#tensor_tensor).
RateClass sbuf_rate(AluOp op, const View& dst, const View& data1, const View& data2) {
  bool bf16 = op == AluOp::kAdd || op == AluOp::kSubtract || op == AluOp::kMultiply;
  bool fp16 = true;
  for (const View* view : {&dst, &data1, &data2}) {
    bf16 = bf16 && view->dtype() == Dtype::kBfloat16 && elementwise::is_contiguous(*view);
    fp16 = fp16 && elementwise::is_16bit_float(view->dtype());
  }
  if (bf16) return RateClass::kTwoInputsBf16;
  return fp16 ? RateClass::kTwoInputs16bit : RateClass::kTwoInputs;
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data1 = draft.operand(kData1);
  const View& data2 = draft.operand(kData2);
  RateClass rate = RateClass::kTwoInputs;
  if (draft.engine == EngineKind::kGpSimd) {
    rate = RateClass::kGpSimdTwoInputs;
  } else if (data1.memory() == MemoryKind::kPsum || data2.memory() == MemoryKind::kPsum) {
    rate = RateClass::kTwoInputsPsum;
  } else {
    rate = sbuf_rate(draft.attribute(kOp).as<AluOp>(), dst, data1, data2);
  }
  const View& main = data2.memory() == MemoryKind::kPsum ? data2 : data1;
  return elementwise::demand(rate, main, {&dst, &data1, &data2});
}

}  // namespace

Draft TensorTensor::draft() const { return draft_of(kTensorTensor, *this); }

constinit const InstructionType kTensorTensor = as_stackable(
    as_elementwise({kName, kOperands, kAttributes, choose_engine, check, run, demand}));

}  // namespace neuron_sim
