#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;

/// `function` of floats; integers are unchanged.
template <Value (*function)(Value)>
Value rounded(Arguments& a) {
  return a.is_float() ? function(a.value(0)) : a.value(0);
}

Value to_decimals(Arguments& a) {
  const double decimals = a.number(1);
  const double factor = std::pow(10.0, std::abs(decimals));
  if (decimals < 0) return nearest(a.value(0) * (1 / factor)) * factor;
  return decimals == 0 ? nearest(a.value(0)) : nearest(a.value(0) * factor) / a.constant(factor);
}

constexpr PointwiseRow kRoundingRows[] = {
    {"floor.out", kCommon, kComputed, rounded<floor>, 0b1, Accepts::kNumbers},
    {"ceil.out", kCommon, kComputed, rounded<ceil>, 0b1, Accepts::kNumbers},
    {"trunc.out", kCommon, kComputed, rounded<trunc>, 0b1, Accepts::kNumbers},
    {"round.out", kCommon, kComputed, rounded<nearest>, 0b1, Accepts::kNumbers},
    {"round.decimals_out", kCommon, kComputed, to_decimals, 0b1, Accepts::kFloats},
    {"frac.out", kCommon, kComputed, [](Arguments& a) { return a.value(0) - trunc(a.value(0)); },
     0b1, Accepts::kFloats},
};

}  // namespace

std::span<const PointwiseRow> rounding_rows() { return kRoundingRows; }

}  // namespace neuron_sim
