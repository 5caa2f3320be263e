#include "device/isa/iota.h"

#include <algorithm>
#include <limits>

#include "device/base/errors.h"
#include "device/isa/checks.h"
#include "device/isa/elementwise.h"
#include "device/isa/rows.h"

namespace neuron_sim {
namespace {

enum Operand { kDst };
enum Attributes { kOffset, kChannelMultiplier, kStep0 };

constexpr std::string_view kName = "iota";

constexpr OperandField kOperands[] = {{"dst", Direction::kWrite}};
constexpr AttributeField kAttributes[] = {
    {"offset", AttributeKind::kInteger}, {"channel_multiplier", AttributeKind::kInteger},
    {"step0", AttributeKind::kInteger},  {"step1", AttributeKind::kInteger},
    {"step2", AttributeKind::kInteger},  {"step3", AttributeKind::kInteger}};

EngineKind choose_engine(const Draft&, const Architecture&) { return EngineKind::kGpSimd; }

void check_attributes(const Draft& draft) {
  constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
  for (int i = 0; i < draft.attribute_count(); ++i) {
    const int64_t value = draft.attribute(i).integer();
    if (value < kLowest || value > kHighest) {
      fail(text(kAttributes[i].name, " ", value, " of 'iota' exceeds int32."));
    }
  }
  const View& dst = draft.operand(kDst);
  for (int i = dst.rank() - 1; i < kMaximumFreeDimensions; ++i) {
    const int64_t step = draft.attribute(kStep0 + i).integer();
    if (step == 0) continue;
    fail(text(kAttributes[kStep0 + i].name, " ", step, " of 'iota' has no dimension: operand 'dst'",
              " is ", dst.describe(), "."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  checks::compute_operand(kName, "dst", draft.operand(kDst), draft.engine, architecture);
  check_attributes(draft);
}

/// Values of the pattern of the first partition, in row-major order.
void fill_pattern(const Instance& instance, std::vector<int64_t>& values) {
  const Access& dst = instance.operand(kDst);
  values.assign(static_cast<size_t>(dst.elements()), 0);
  int64_t repeat = 1;  // elements of the dimensions inside this one
  for (int d = dst.rank - 1; d >= 0; --d) {
    const int64_t size = dst.free[static_cast<size_t>(d)].size;
    const int64_t step = instance.attribute(kStep0 + d).integer();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<int64_t>(i) / repeat % size * step;
    }
    repeat *= size;
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& pattern = scratch.first_integers;
  std::vector<int64_t>& row = scratch.result_integers;
  fill_pattern(instance, pattern);
  const size_t count = pattern.size();
  row.resize(count);
  scratch.result.resize(count);
  const bool integers = is_integer(dst.dtype);
  const elementwise::IntegerRange range = elementwise::integer_range(dst.dtype);
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const int64_t start = instance.attribute(kOffset).integer() +
                          p * instance.attribute(kChannelMultiplier).integer();
    for (size_t i = 0; i < count; ++i) {
      row[i] = static_cast<int32_t>(static_cast<uint32_t>(start + pattern[i]));
    }
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
  return make_draft(kIota, engine, {&dst},
                    {Attribute::of(offset), Attribute::of(channel_multiplier),
                     Attribute::of(steps[0]), Attribute::of(steps[1]), Attribute::of(steps[2]),
                     Attribute::of(steps[3])});
}

constinit const InstructionType kIota = {kName, kOperands, kAttributes, choose_engine,
                                         check, run,       demand};

}  // namespace neuron_sim
