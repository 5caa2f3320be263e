#include "device/isa/movement/memset.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

using enum Memset::OperandIndex;
using enum Memset::AttributeIndex;

constexpr std::string_view kName = "memset";

constexpr auto kOperands = operand_table<Memset>();
constexpr auto kAttributes = attribute_table<Memset>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector, EngineKind::kGpSimd}, architecture);
  checks::movable_operand(kName, "dst", draft.operand(kDst), draft.engine, architecture);
  elementwise::check_constant(kName, "value", draft.attribute(kValue).real(), draft.operand(kDst));
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const double value = instance.attribute(kValue).real();
  const size_t count = static_cast<size_t>(dst.elements());
  if (dst.partitions == 0) return;
  // The first partition is converted, the others are copies of it.
  if (is_packed(dst.dtype)) {  // all values are 0, and so are all bits
    Access bits = dst;
    bits.dtype = itemsize(dst.dtype) == 4 ? Dtype::kUint32 : Dtype::kUint16;
    std::vector<int64_t>& row = row_scratch().result_integers;
    row.assign(count, 0);
    write_integer_row(bits, 0, row.data());
  } else if (is_integer(dst.dtype)) {
    std::vector<int64_t>& row = row_scratch().result_integers;
    row.assign(count, static_cast<int64_t>(value));
    write_integer_row(dst, 0, row.data());
  } else {
    std::vector<float>& row = row_scratch().result;
    row.assign(count, static_cast<float>(value));
    write_row(dst, 0, row.data());
  }
  Access first = dst, others = dst;
  first.partition_stride = 0;
  others.data += dst.partition_stride;
  --others.partitions;
  cast_rows(first, others, /*exact=*/true);
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  RateClass rate = RateClass::kOneInput;
  if (draft.engine == EngineKind::kGpSimd) {
    rate = RateClass::kGpSimdOneInput;
  } else if (draft.attribute(kValue).real() == 0 && elementwise::is_16bit_float(dst.dtype())) {
    rate = RateClass::kMemset16bitZero;
  }
  Demand result = elementwise::demand(rate, dst, {&dst});
  result.steps[0].source_psum = false;  // there is no source
  return result;
}

}  // namespace

Draft Memset::draft() const { return draft_of(kMemset, *this); }

constinit const InstructionType kMemset = as_stackable(as_elementwise(
    {kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand}));

}  // namespace neuron_sim
