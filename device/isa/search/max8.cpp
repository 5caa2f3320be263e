#include "device/isa/search/max8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"
#include "device/isa/search/row_search.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "max8";
constexpr size_t kCount = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
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
  if (dst.free_elements() != int64_t{kCount}) {
    fail(text("operand 'dst' of 'max8' has ", dst.free_elements(),
              " elements per partition, but must have 8."));
  }
}

/// The largest numbers so far, in descending order.
class Top {
 public:
  /// Without a branch, which a processor would foresee wrongly.
  void offer(float value) {
    const Floats all{value, value, value, value};
    const Words first_stays = first_ >= all, last_stays = last_ >= all;
    last_ = last_stays ? last_
                       : (__builtin_shufflevector(first_stays, last_stays, 3, 4, 5, 6)
                              ? all
                              : __builtin_shufflevector(first_, last_, 3, 4, 5, 6));
    first_ = first_stays ? first_
                         : (__builtin_shufflevector(first_stays, Words{} - 1, 4, 0, 1, 2)
                                ? all
                                : __builtin_shufflevector(first_, first_, 0, 0, 1, 2));
  }
  float operator[](size_t place) const { return place < 4 ? first_[place] : last_[place - 4]; }
  float least() const { return last_[3]; }

 private:
  using Floats [[gnu::vector_size(16)]] = float;
  using Words [[gnu::vector_size(16)]] = int32_t;
  Floats first_ = Floats{} - kInfinity, last_ = first_;
};

/// A number that at least eight of the elements reach: the eighth largest of the maxima of columns;
/// -infinity where that is not certain.
float reached_by_eight(const float* values, int64_t count) {
  constexpr int64_t kColumns = 32;  // fewer ones are not put in vectors
  float largest[kColumns];
  std::fill_n(largest, kColumns, -kInfinity);
  int64_t i = 0;
  for (; i + kColumns <= count; i += kColumns) {
    for (int64_t column = 0; column < kColumns; ++column) {
      const float value = values[i + column];
      largest[column] = value > largest[column] ? value : largest[column];
    }
  }
  Top top;
  for (int64_t column = 0; column < kColumns / 2; ++column) {
    top.offer(std::max(largest[column], largest[column + kColumns / 2]));
  }
  return top.least();
}

/// In descending order; NaN is smaller than everything.
std::array<float, kCount> largest(const float* values, int64_t count) {
  FloatRange range{reached_by_eight(values, count), kInfinity};
  Top top;
  size_t numbers = 0;
  for_elements_within(values, count, range, [&](int64_t i) {
    top.offer(values[i]);
    range.low = std::max(range.low, top.least());
    ++numbers;
    return true;
  });
  std::array<float, kCount> result{};
  for (size_t place = 0; place < kCount; ++place) result[place] = top[place];
  for (int64_t i = 0; numbers < kCount && i < count; ++i) {
    if (std::isnan(values[i])) result[numbers++] = values[i];
  }
  return result;
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
