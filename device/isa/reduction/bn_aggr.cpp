#include "device/isa/reduction/bn_aggr.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

using enum BnAggr::OperandIndex;

constexpr std::string_view kName = "bn_aggr";
constexpr int64_t kTriple = 3;

constexpr auto kOperands = operand_table<BnAggr>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::compute_operand(kName, "data", data, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "data", data);
  if (data.free_elements() % kTriple != 0) {
    fail(text("operand 'data' of 'bn_aggr' has ", data.free_elements(),
              " elements per partition, but must have a multiple of 3."));
  }
  if (dst.free_elements() != 2) {
    fail(text("operand 'dst' of 'bn_aggr' has ", dst.free_elements(),
              " elements per partition, but must have 2."));
  }
}

void run(const Instance& instance) {
  const Access& data = instance.operand(kData);
  const int64_t count = data.elements();
  for (int64_t p = 0; p < data.partitions; ++p) {
    const float* triples = read_row(data, p, row_scratch().first);
    float total = 0, sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i += kTriple) {
      total += triples[i];
      sum += triples[i] * triples[i + 1];
    }
    const float mean = sum / total;
    for (int64_t i = 0; i < count; i += kTriple) {
      const float difference = triples[i + 1] - mean;
      squares += triples[i + 2] + triples[i] * (difference * difference);
    }
    const float result[] = {mean, squares / total};
    write_row(instance.operand(kDst), p, result);
  }
}

/// 13 cycles per triple (docs/hardware_facts.md#bn_aggr).
Demand demand(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  Demand result = elementwise::demand(RateClass::kBnAggregate, data, {&draft.operand(kDst), &data});
  result.steps[0].elements = data.free_elements() / kTriple;
  return result;
}

}  // namespace

Draft BnAggr::draft() const { return draft_of(kBnAggr, *this); }

constinit const InstructionType kBnAggr = {
    kName, kOperands, {}, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
