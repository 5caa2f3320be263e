#include "csrc/aten/shared/integers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>
#include <c10/util/FunctionRef.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::Tensor;

constexpr int64_t kExact = 16777216;  // fp32 holds every integer up to 2^24
constexpr int32_t kSign = 0x8000;     // of the high half

/// Bits `shift` to `shift + bits - 1` of each element, as float32.
Tensor piece(const Tensor& self, int shift, int bits) {
  Expression expression(Domain::kInteger);
  const ElementValue moved = expression.alu(AluOp::kRightShift, expression.input(0),
                                            expression.constant(static_cast<double>(shift)));
  expression.add_result(expression.alu(AluOp::kBitwiseAnd, moved,
                                       expression.constant(static_cast<double>((1 << bits) - 1))));
  const Tensor result = at::empty_like(self, self.options().dtype(at::kInt));
  run_pointwise(expression, {self}, result);
  return result.to(at::kFloat);
}

/// Sums over `count` elements each, with `sum` applied to fp32 pieces.
Tensor sums_of(const Tensor& self, int64_t count, c10::function_ref<Tensor(const Tensor&)> sum) {
  check_computable(self.scalar_type());
  if (count * 255 > kExact) throw Refusal{"fp32 does not count sums of so many integers"};
  if (self.element_size() == 1) return sum(self.to(at::kFloat)).to(at::kLong);
  const Tensor whole = self.to(at::kInt);
  Tensor total;
  for (int shift = 0; shift < 32; shift += 8) {
    Tensor part = piece(whole, shift, 8);
    if (shift == 24) part = part - part.ge(128).to(at::kFloat) * 256.0;  // the sign
    const Tensor sums = sum(part).to(at::kLong) * (int64_t{1} << shift);
    total = total.defined() ? total + sums : sums;
  }
  return total;
}

}  // namespace

Tensor exact_sums(const Tensor& self, at::OptionalIntArrayRef dimensions, bool keep) {
  int64_t count = 1;
  const bool whole = !dimensions || dimensions->empty();
  if (whole) count = self.numel();
  if (!whole) {
    for (const int64_t dimension : *dimensions) count *= self.dim() == 0 ? 1 : self.size(dimension);
  }
  return sums_of(self, count, [&](const Tensor& part) { return part.sum(dimensions, keep); });
}

Tensor exact_running_sums(const Tensor& self, int64_t dimension) {
  std::vector<Tensor> runs;
  for (const Tensor& run : self.split(kExact / 256, dimension)) {
    const Tensor sums = sums_of(run, run.size(dimension),
                                [&](const Tensor& part) { return part.cumsum(dimension); });
    const bool first = runs.empty();
    runs.push_back(first ? sums : sums + runs.back().narrow(dimension, -1, 1));
  }
  return at::cat(runs, dimension);
}

Tensor exact_extremum(const Tensor& self, at::IntArrayRef dimensions, bool largest) {
  const auto extremum = [&](const Tensor& x) {
    return largest ? x.amax(dimensions, true) : x.amin(dimensions, true);
  };
  const OrderedHalves halves = ordered_halves(self);
  const Tensor high = extremum(halves.high);
  const Tensor low = extremum(low_candidates(halves, high, largest));
  return (high - kSign).to(at::kInt) * 65536 + low.to(at::kInt);
}

OrderedHalves ordered_halves(const Tensor& self) {
  const Tensor high = piece(self, 16, 16);
  // Numbers without a sign bit are the larger ones.
  return {at::where(high.lt(kSign), high + kSign, high - kSign), piece(self, 0, 16)};
}

Tensor low_candidates(const OrderedHalves& halves, const Tensor& extremum, bool largest) {
  const Tensor nowhere = at::full_like(halves.low, largest ? -1 : 65536);
  return at::where(at::eq(halves.high, extremum), halves.low, nowhere);
}

}  // namespace neuron_sim
