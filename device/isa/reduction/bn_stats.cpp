#include "device/isa/reduction/bn_stats.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/tile_limits.h"
#include "device/numerics/reduction.h"

namespace neuron_sim {
namespace {

using enum BnStats::OperandIndex;

constexpr std::string_view kName = "bn_stats";
constexpr int64_t kStatistics = 6;

constexpr auto kOperands = operand_table<BnStats>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::compute_operand(kName, "data", data, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "data", data);
  check_tile_size(kName, "data", data, architecture.limits.partitions,
                  architecture.limits.bn_stats_elements, architecture);
  if (dst.free_elements() != kStatistics) {
    fail(text("operand 'dst' of 'bn_stats' has ", dst.free_elements(),
              " elements per partition, but must have 6."));
  }
}

/// Count, mean and variance * count of every other value; `half` has room for them.
void statistics(const float* values, int64_t count, float* half, float* result) {
  const int64_t used = (count + 1) / 2;
  std::fill(result, result + 3, 0.0F);
  if (used <= 0) return;
  for (int64_t i = 0; i < used; ++i) half[i] = values[2 * i];
  const auto divisor = static_cast<float>(used);
  const float mean = reduce(AluOp::kAdd, half, used) / divisor;
  for (int64_t i = 0; i < used; ++i) {
    const float difference = half[i] - mean;
    half[i] = difference * difference;
  }
  result[0] = divisor;
  result[1] = mean;
  result[2] = reduce(AluOp::kAdd, half, used);
}

void run(const Instance& instance) {
  const Access& data = instance.operand(kData);
  RowScratch& scratch = row_scratch();
  const int64_t count = data.elements();
  scratch.second.resize(static_cast<size_t>(count));
  for (int64_t p = 0; p < data.partitions; ++p) {
    const float* values = read_row(data, p, scratch.first);
    float result[kStatistics];
    statistics(values, count, scratch.second.data(), result);
    statistics(values + 1, count - 1, scratch.second.data(), result + 3);
    write_row(instance.operand(kDst), p, result);
  }
}

/// One cycle per element (docs/hardware_facts.md#bn_stats).
Demand demand(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  return elementwise::demand(RateClass::kOneInput, data, {&draft.operand(kDst), &data});
}

}  // namespace

Draft BnStats::draft() const { return draft_of(kBnStats, *this); }

constinit const InstructionType kBnStats = {
    kName, kOperands, {}, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
