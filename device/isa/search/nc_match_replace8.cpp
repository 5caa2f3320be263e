#include "device/isa/search/nc_match_replace8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/search/row_search.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_match_replace8";
constexpr int kCount = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using enum NcMatchReplace8::OperandIndex;
using enum NcMatchReplace8::AttributeIndex;
constexpr auto kOperands = operand_table<NcMatchReplace8>();
constexpr auto kAttributes = attribute_table<NcMatchReplace8>();

void check_eight(std::string_view operand, const View& view, const View& data) {
  checks::same_partitions(kName, "data", data, operand, view);
  if (view.free_elements() == kCount) return;
  fail(text("operand '", operand, "' of 'nc_match_replace8' has ", view.free_elements(),
            " elements per partition, but must have 8."));
}

/// The vendor reads vals of at most two free dimensions.
void check_rank(const View& vals) {
  constexpr int kMaximum = 3;
  if (vals.rank() <= kMaximum) return;
  fail(text("operand 'vals' of 'nc_match_replace8' is ", vals.describe(), ", but may have at most ",
            kMaximum, " dimensions."));
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& data = draft.operand(kData);
  const View& vals = draft.operand(kVals);
  const View& dst_idx = draft.operand(kDstIdx);
  checks::source_and_dst(kName, "data", data, draft.operand(kDst), draft.engine, architecture);
  checks::compute_operand(kName, "vals", vals, draft.engine, architecture);
  check_eight("vals", vals, data);
  check_rank(vals);
  const int64_t limit = architecture.limits.max8_maximum_elements;
  if (data.free_elements() > limit) {
    fail(text("operand 'data' of 'nc_match_replace8' has ", data.free_elements(),
              " elements per partition; architecture ", architecture.name, " allows 1 to ", limit,
              "."));
  }
  if (!dst_idx.present()) return;
  checks::compute_operand(kName, "dst_idx", dst_idx, draft.engine, architecture);
  check_eight("dst_idx", dst_idx, data);
  if (dst_idx.dtype() != Dtype::kUint16 && dst_idx.dtype() != Dtype::kUint32) {
    checks::dtype_error(kName, "dst_idx", dst_idx, "uint16 or uint32");
  }
}

/// Where each value is found, -1 if nowhere. Slots with equal values, from the last to the first,
/// take successive matches.
std::array<int64_t, kCount> matches(const float* data, int64_t count, const float* vals) {
  std::array<int64_t, kCount> found{};
  found.fill(-1);
  FloatRange range{kInfinity, -kInfinity};
  int open = 0;  // values still to find
  for (int slot = 0; slot < kCount; ++slot) {
    if (std::isnan(vals[slot])) continue;
    range.low = std::min(range.low, vals[slot]);
    range.high = std::max(range.high, vals[slot]);
    ++open;
  }
  if (open == 0) return found;
  for_elements_within(data, count, range, [&](int64_t i) {
    int slot = kCount - 1;
    while (slot >= 0 && (vals[slot] != data[i] || found[static_cast<size_t>(slot)] >= 0)) --slot;
    if (slot < 0) return true;
    found[static_cast<size_t>(slot)] = i;
    return --open > 0;
  });
  return found;
}

void run(const Instance& instance) {
  const Access& data = instance.operand(kData);
  const Access& dst_idx = instance.operand(kDstIdx);
  const auto imm = static_cast<float>(instance.attribute(kImm).real());
  const int64_t count = data.elements();
  RowScratch& scratch = row_scratch();
  for (int64_t p = 0; p < data.partitions; ++p) {
    const float* row = read_row(data, p, scratch.first);
    const float* vals = read_row(instance.operand(kVals), p, scratch.second);
    const std::array<int64_t, kCount> found = matches(row, count, vals);
    float* const result = row_target(instance.operand(kDst), p, scratch.result);
    std::memmove(result, row, static_cast<size_t>(count) * sizeof(float));
    for (const int64_t element : found) {
      if (element >= 0) result[element] = imm;
    }
    write_row(instance.operand(kDst), p, result);
    // -1 modulo 2^bits is all ones
    if (dst_idx.present()) write_integer_row(dst_idx, p, found.data());
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  return elementwise::demand(RateClass::kOneInput, data, {&dst, &data});
}

}  // namespace

Draft NcMatchReplace8::draft() const { return draft_of(kNcMatchReplace8, *this); }

const InstructionType kNcMatchReplace8 = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
