#include "device/isa/movement/iota.h"

#include <algorithm>

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "iota";

using enum Iota::OperandIndex;
constexpr auto kOperands = operand_table<Iota>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  AffinePattern(draft.attributes).check(kName, "dst", dst);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const AffinePattern pattern(instance.attributes);
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& indices = scratch.first_integers;
  std::vector<int64_t>& row = scratch.result_integers;
  pattern.fill(indices);
  const size_t count = indices.size();
  row.resize(count);
  scratch.result.resize(count);
  const bool integers = is_integer(dst.dtype);
  const elementwise::IntegerRange range = elementwise::integer_range(dst.dtype);
  for (int64_t p = 0; p < dst.partitions; ++p) {
    for (size_t i = 0; i < count; ++i) row[i] = pattern.value(p, indices[i]);
    if (integers) {
      for (int64_t& value : row) value = std::clamp(value, range.lowest, range.highest);
      write_integer_row(dst, p, row.data());
    } else {
      std::copy(row.begin(), row.end(), scratch.result.begin());
      write_row(dst, p, scratch.result.data());
    }
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  return elementwise::demand(RateClass::kGpSimdOneInput, dst, {&dst});
}

}  // namespace

Draft Iota::draft() const {
  const auto numbers = AffinePattern::attributes(kName, pattern, offset, channel_multiplier);
  Draft draft = draft_of(kIota, *this);
  std::copy(numbers.begin(), numbers.end(), draft.attributes.begin());
  return draft;
}

constinit const InstructionType kIota = {
    kName, kOperands, AffinePattern::kFields, fixed_engine<EngineKind::kGpSimd>, check,
    run,   demand};

}  // namespace neuron_sim
