#include "device/isa/search/max8.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "max8";
constexpr int64_t kCount = 8;
using enum Max8::OperandIndex;
constexpr auto kOperands = operand_table<Max8>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::compute_operand(kName, "src", src, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "src", src);
  const Limits& limits = architecture.limits;
  if (src.free_elements() < limits.max8_minimum_elements ||
      src.free_elements() > limits.max8_maximum_elements) {
    fail(text("operand 'src' of 'max8' has ", src.free_elements(),
              " elements per partition; architecture ", architecture.name, " allows ",
              limits.max8_minimum_elements, " to ", limits.max8_maximum_elements, "."));
  }
  if (dst.free_elements() != kCount) {
    fail(text("operand 'dst' of 'max8' has ", dst.free_elements(),
              " elements per partition, but must have 8."));
  }
}

bool before(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

/// The largest values so far, sorted; NaN is smaller than everything.
struct Top {
  std::array<float, kCount> values{};
  size_t filled = 0;

  void offer(float value) {
    if (filled == kCount && !before(value, values[kCount - 1])) return;
    size_t place = filled < kCount ? filled++ : kCount - 1;
    for (; place > 0 && before(value, values[place - 1]); --place) {
      values[place] = values[place - 1];
    }
    values[place] = value;
  }
  /// True when none of these can enter; whole blocks are compared at once.
  bool rejects(const float* block, int64_t count) const {
    if (filled < kCount) return false;
    const float least = values[kCount - 1];
    int larger = 0;
    if (std::isnan(least)) {
      for (int64_t i = 0; i < count; ++i) larger |= block[i] == block[i] ? 1 : 0;
    } else {
      for (int64_t i = 0; i < count; ++i) larger |= block[i] > least ? 1 : 0;
    }
    return larger == 0;
  }
};

std::array<float, kCount> largest(const float* values, int64_t count) {
  constexpr int64_t kBlock = 32;
  Top top;
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t size = std::min(kBlock, count - i);
    if (top.rejects(values + i, size)) continue;
    for (int64_t j = 0; j < size; ++j) top.offer(values[i + j]);
  }
  return top.values;
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  for (int64_t p = 0; p < src.partitions; ++p) {
    const float* values = read_row(src, p, row_scratch().first);
    const std::array<float, kCount> top = largest(values, src.elements());
    write_row(dst, p, top.data());
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& src = draft.operand(kSrc);
  Demand demand;
  demand.add({.unit = Unit::kElementwise,
              .source_psum = src.memory() == MemoryKind::kPsum,
              .strided = is_strided(src),
              .elements = src.free_elements()});
  return demand;
}

}  // namespace

Draft Max8::draft() const { return draft_of(kMax8, *this); }

const InstructionType kMax8 = {kName, kOperands, {},    fixed_engine<EngineKind::kVector>,
                               check, run,       demand};

}  // namespace neuron_sim
