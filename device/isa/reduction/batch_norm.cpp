// bn_stats and bn_aggr: statistics of batch norm as triples of count, mean and variance * count.

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/tile_limits.h"
#include "device/isa/reduction/bn_aggr.h"
#include "device/isa/reduction/bn_stats.h"
#include "device/numerics/reduction.h"

namespace neuron_sim {
namespace {

enum OperandIndex { kDst, kData };
static_assert(int{kData} == BnStats::kData && int{kData} == BnAggr::kData);

constexpr int64_t kTriple = 3;
constexpr int64_t kStatistics = 2 * kTriple;
constexpr int64_t kMoments = 2;

template <typename T>
constexpr auto kOperands = operand_table<T>();

void check_operands(const Draft& draft, const Architecture& architecture) {
  const std::string_view instruction = draft.type->name;
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::engine(instruction, draft.engine, {EngineKind::kVector}, architecture);
  checks::compute_operand(instruction, "data", data, draft.engine, architecture);
  checks::compute_operand(instruction, "dst", dst, draft.engine, architecture);
  checks::same_partitions(instruction, "dst", dst, "data", data);
}

void check_results(const Draft& draft, int64_t count) {
  const View& dst = draft.operand(kDst);
  if (dst.free_elements() == count) return;
  fail(text("operand 'dst' of '", draft.type->name, "' has ", dst.free_elements(),
            " elements per partition, but must have ", count, "."));
}

void check_stats(const Draft& draft, const Architecture& architecture) {
  check_operands(draft, architecture);
  check_tile_size(draft.type->name, "data", draft.operand(kData), architecture.limits.partitions,
                  architecture.limits.bn_stats_elements, architecture);
  check_results(draft, kStatistics);
}

void check_aggr(const Draft& draft, const Architecture& architecture) {
  check_operands(draft, architecture);
  const int64_t elements = draft.operand(kData).free_elements();
  if (elements % kTriple != 0) {
    fail(text("operand 'data' of 'bn_aggr' has ", elements,
              " elements per partition, but must have a multiple of 3."));
  }
  check_results(draft, kMoments);
}

/// Partitions whose halves are summed side by side.
constexpr int64_t kTogether = kRowsAtOnce / 2;

/// The sums of `halves` rows of `used` values.
void add_halves(const std::vector<float>& values, int64_t halves, int64_t used, float* sums) {
  const float* rows[kRowsAtOnce];
  for (int64_t h = 0; h < halves; ++h) rows[h] = values.data() + h * used;
  std::fill(sums, sums + halves, 0.0F);
  add_in_order(rows, halves, used, sums);
}

void run_stats(const Instance& instance) {
  const Access& data = instance.operand(kData);
  RowScratch& scratch = row_scratch();
  const int64_t count = data.elements(), used = (count + 1) / 2;
  scratch.second.resize(static_cast<size_t>(kRowsAtOnce * used));
  for (int64_t p = 0; p < data.partitions; p += kTogether) {
    const int64_t halves = 2 * std::min(kTogether, data.partitions - p);
    for (int64_t h = 0; h < halves; h += 2) {
      const float* values = read_row(data, p + h / 2, scratch.first);
      float* const even = scratch.second.data() + h * used;
      for (int64_t i = 0; i < used; ++i) even[i] = values[2 * i];
      if (count % 2 == 1) even[2 * used - 1] = 0;  // ends the shorter half, and adds nothing
      for (int64_t i = 0; i < count / 2; ++i) even[used + i] = values[2 * i + 1];
    }
    const auto length = [&](int64_t half) { return (count + 1 - half % 2) / 2; };
    float means[kRowsAtOnce], squares[kRowsAtOnce];
    add_halves(scratch.second, halves, used, means);
    for (int64_t h = 0; h < halves; ++h) {
      means[h] = length(h) == 0 ? 0.0F : means[h] / static_cast<float>(length(h));
      float* const half = scratch.second.data() + h * used;
      for (int64_t i = 0; i < length(h); ++i) half[i] = (half[i] - means[h]) * (half[i] - means[h]);
    }
    add_halves(scratch.second, halves, used, squares);
    for (int64_t h = 0; h < halves; h += 2) {
      const float result[kStatistics] = {
          static_cast<float>(length(h)),     means[h],     squares[h],
          static_cast<float>(length(h + 1)), means[h + 1], squares[h + 1]};
      write_row(instance.operand(kDst), p + h / 2, result);
    }
  }
}

void run_aggr(const Instance& instance) {
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

/// One cycle per element (docs/hardware_facts.md#bn_stats).
Demand demand_stats(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  return elementwise::demand(RateClass::kOneInput, data, {&draft.operand(kDst), &data});
}

/// 13 cycles per triple (docs/hardware_facts.md#bn_aggr).
Demand demand_aggr(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  Demand result = elementwise::demand(RateClass::kBnAggregate, data, {&draft.operand(kDst), &data});
  result.steps[0].elements = data.free_elements() / kTriple;
  return result;
}

}  // namespace

Draft BnStats::draft() const { return draft_of(kBnStats, *this); }
Draft BnAggr::draft() const { return draft_of(kBnAggr, *this); }

constinit const InstructionType kBnStats = {
    BnStats::kName, kOperands<BnStats>, {},          fixed_engine<EngineKind::kVector>,
    check_stats,    run_stats,          demand_stats};
constinit const InstructionType kBnAggr = {
    BnAggr::kName, kOperands<BnAggr>, {},         fixed_engine<EngineKind::kVector>,
    check_aggr,    run_aggr,          demand_aggr};

}  // namespace neuron_sim
