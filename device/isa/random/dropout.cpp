#include "device/isa/random/dropout.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/isa/random/random_state.h"

namespace neuron_sim {
namespace {

using enum Dropout::OperandIndex;
using enum Dropout::AttributeIndex;

constexpr std::string_view kName = "dropout";

constexpr auto kOperands = operand_table<Dropout>();
constexpr auto kAttributes = attribute_table<Dropout>();

void check_probability(const Draft& draft, const Architecture& architecture) {
  const View& prob = draft.operand(kProb);
  const View& data = draft.operand(kData);
  if (!prob.present()) {
    const double constant = draft.attribute(kProbConstant).real();
    if (!(constant >= 0 && constant <= 1)) {
      fail(text("prob ", constant, " of 'dropout' must be a probability from 0 to 1."));
    }
    return;
  }
  checks::compute_operand(kName, "prob", prob, draft.engine, architecture);
  checks::per_partition(kName, "prob", prob, data);
  if (is_integer(data.dtype()) && prob.dtype() != Dtype::kFloat32) {
    checks::dtype_error(kName, "prob", prob, "float32 for integer data");
  }
  if (!is_float(prob.dtype())) checks::dtype_error(kName, "prob", prob, "a floating dtype");
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::source_and_dst(kName, "data", data, dst, draft.engine, architecture);
  if (dst.dtype() != data.dtype()) {
    checks::dtype_error(kName, "dst", dst,
                        text(name(data.dtype()), ", the dtype of operand 'data'"));
  }
  check_probability(draft, architecture);
}

/// Zero has the same bits in every dtype, so elements are integers of their size.
Access as_integers(Access access) {
  constexpr Dtype kBySize[] = {Dtype::kUint8, Dtype::kUint16, Dtype::kUint16, Dtype::kUint32};
  access.dtype = kBySize[itemsize(access.dtype) - 1];
  return access;
}

void run(const Instance& instance) {
  const Access dst = as_integers(instance.operand(kDst));
  const Access data = as_integers(instance.operand(kData));
  const int64_t count = dst.elements();
  RowScratch& scratch = row_scratch();
  scratch.result_integers.resize(static_cast<size_t>(count));
  int64_t* result = scratch.result_integers.data();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float prob =
        scalar_operand(instance.operand(kProb), instance.attribute(kProbConstant).real(), p);
    const int64_t* values = read_integer_row(data, p, scratch.first_integers);
    const uint32_t* bits = next_random_row(instance, instance.operand(kState), p, count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = unit_interval(bits[i]) < prob ? 0 : values[i];
    }
    write_integer_row(dst, p, result);
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  Demand result = elementwise::demand(RateClass::kOneInput, data, {&dst, &data});
  result.steps[0].pointer_operand = draft.operand(kProb).present();
  return result;
}

}  // namespace

Draft Dropout::draft() const {
  const View state = random_state(EngineKind::kVector, data.partitions());
  Draft draft = draft_of(kDropout, *this);
  draft.operands[kState] = state;
  return draft;
}

constinit const InstructionType kDropout = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
