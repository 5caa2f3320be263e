#include "device/isa/elementwise/reciprocal.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

using enum Reciprocal::OperandIndex;

constexpr std::string_view kName = "reciprocal";

constexpr auto kOperands = operand_table<Reciprocal>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::source_and_dst(kName, "data", data, dst, draft.engine, architecture);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float* data = read_row(instance.operand(kData), p, scratch.first);
    float* result = row_target(dst, p, scratch.result);
    for (int64_t i = 0; i < count; ++i) result[i] = 1.0F / data[i];
    write_row(dst, p, result);
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  return elementwise::demand(RateClass::kIterative, data, {&draft.operand(kDst), &data});
}

}  // namespace

Draft Reciprocal::draft() const { return draft_of(kReciprocal, *this); }

constinit const InstructionType kReciprocal = as_stackable(
    as_elementwise({kName, kOperands, {}, fixed_engine<EngineKind::kVector>, check, run, demand}));

}  // namespace neuron_sim
