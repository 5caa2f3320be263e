#include "device/instruction/affine_pattern.h"

#include <limits>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr size_t kDimensions = kMaximumFreeDimensions;

}  // namespace

std::vector<Attribute> AffinePattern::attributes(std::string_view instruction,
                                                 const IndexPattern& pattern, int64_t offset,
                                                 int64_t channel_multiplier) {
  if (pattern.size() > kDimensions) {
    fail(text("pattern of '", instruction, "' has ", pattern.size(),
              " dimensions; an access pattern has up to ", kDimensions, "."));
  }
  std::vector<Attribute> result = {Attribute::of(offset), Attribute::of(channel_multiplier)};
  for (size_t i = 0; i < kDimensions; ++i) {
    result.push_back(Attribute::of(i < pattern.size() ? pattern[i][0] : int64_t{0}));
    result.push_back(Attribute::of(i < pattern.size() ? pattern[i][1] : int64_t{1}));
  }
  return result;
}

int64_t AffinePattern::elements() const {
  int64_t count = 1;
  for (size_t i = 0; i < kDimensions; ++i) count *= size(i);
  return count;
}

void AffinePattern::check(std::string_view instruction, std::string_view operand,
                          const View& view) const {
  constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < kCount; ++i) {
    if (number(i) >= kLowest && number(i) <= kHighest) continue;
    fail(text(kFields[i].name, " ", number(i), " of '", instruction, "' exceeds int32."));
  }
  int64_t count = 1;
  for (size_t i = 0; i < kDimensions; ++i) {
    if (size(i) < 1 || size(i) > view.free_elements()) {
      fail(text("size", i, " ", size(i), " of the pattern of '", instruction,
                "' must be from 1 to the ", view.free_elements(),
                " elements per partition of operand '", operand, "'."));
    }
    count *= size(i);
  }
  if (count == view.free_elements()) return;
  fail(text("pattern of '", instruction, "' has ", count, " elements, but operand '", operand,
            "' has ", view.free_elements(), " per partition: ", view.describe(), "."));
}

void AffinePattern::fill(std::vector<int64_t>& values) const {
  values.assign(static_cast<size_t>(elements()), 0);
  int64_t repeat = 1;  // elements of the dimensions inside this one
  for (size_t d = kDimensions; d-- > 0;) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<int64_t>(i) / repeat % size(d) * step(d);
    }
    repeat *= size(d);
  }
}

}  // namespace neuron_sim
