// Running maxima, minima and logarithms of sums; medians; places in sorted sequences.
// Algorithm of running results: elements combine with their neighbours at distances 1, 2, 4, ...

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <limits>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// The last `rest` elements of the last dimension replaced.
Tensor with_tail(const Tensor& values, const Tensor& tail) {
  return at::cat({values.narrow(-1, 0, values.size(-1) - tail.size(-1)), tail}, -1);
}

/// The last one of equal elements, and of NaN.
template <bool largest>
void running_extremum(const Tensor& self, Tensor& values, Tensor& indices, int64_t dimension) {
  check_extremum(self);
  if (self.dim() == 0 || self.numel() == 0) throw Refusal{"there are no rows"};
  const c10::DeviceGuard guard(self.device());
  Tensor found = self.movedim(dimension, -1).contiguous();
  const int64_t length = found.size(-1);
  Tensor place = at::arange(length, at::TensorOptions().dtype(at::kInt))
                     .to(self.device())
                     .expand(found.sizes());
  for (int64_t step = 1; step < length; step *= 2) {
    const int64_t rest = length - step;
    const Tensor later = found.narrow(-1, step, rest), before = found.narrow(-1, 0, rest);
    const Tensor wins = largest ? later.ge(before) : later.le(before);
    const Tensor kept = wins.logical_or(later.isnan());
    const Tensor places = at::where(kept, place.narrow(-1, step, rest), place.narrow(-1, 0, rest));
    found = with_tail(found, at::where(kept, later, before));
    place = with_tail(place, places);
  }
  values.copy_(found.movedim(-1, dimension));
  indices.copy_(place.movedim(-1, dimension));
}

Tensor running_logarithm(const Tensor& self, int64_t dimension) {
  check_floating(self);
  at::maybe_wrap_dim(dimension, self.dim());  // IndexError
  if (self.dim() == 0 || self.numel() == 0) return self.clone();
  const c10::DeviceGuard guard(self.device());
  Tensor sums = self.to(at::kFloat).movedim(dimension, -1).contiguous();
  const int64_t length = sums.size(-1);
  for (int64_t step = 1; step < length; step *= 2) {
    const int64_t rest = length - step;
    sums = with_tail(sums, at::logaddexp(sums.narrow(-1, step, rest), sums.narrow(-1, 0, rest)));
  }
  return sums.movedim(-1, dimension).contiguous().to(self.scalar_type());
}

Tensor& running_logarithm_out(const Tensor& self, int64_t dimension, Tensor& out) {
  at::native::resize_output(out, self.sizes());
  return out.copy_(running_logarithm(self, dimension));
}

/// The lower one of the two in the middle; NaN where the row has one.
std::tuple<Tensor&, Tensor&> median_out(const Tensor& self, int64_t dimension, bool keep,
                                        Tensor& values, Tensor& indices) {
  check_extremum(self);
  const c10::DeviceGuard guard(self.device());
  const Tensor rows = self.dim() == 0 ? self.view(1) : self;
  const int64_t at = at::maybe_wrap_dim(dimension, rows.dim());
  TORCH_CHECK_INDEX(rows.size(at) > 0, "median(): Expected reduction dim ", dimension,
                    " to have non-zero size.");
  const bool kept = keep && self.dim() > 0;
  auto [middle, place] = rows.kthvalue((rows.size(at) + 1) / 2, at, kept);
  if (self.is_floating_point()) {
    const Tensor nan = rows.isnan();
    const Tensor any = nan.any(at, kept);
    middle = middle.masked_fill(any, std::numeric_limits<double>::quiet_NaN());
    place = at::where(any, nan.to(at::kFloat).argmax(at, kept), place);
  }
  const bool scalar = self.dim() == 0;
  const Tensor value = scalar ? middle.reshape({}) : middle;
  at::native::resize_output(values, value.sizes());
  at::native::resize_output(indices, value.sizes());
  values.copy_(value);
  indices.copy_(scalar ? place.reshape({}) : place);
  return std::tie(values, indices);
}

Tensor median(const Tensor& self) {
  check_extremum(self);
  if (self.numel() == 0) throw Refusal{"there are no elements"};
  return std::get<0>(self.reshape(-1).median(0));
}

/// The number of elements of the sequence before each value: all pairs are compared.
Tensor places(const Tensor& sequence, const Tensor& values, bool right, bool narrow) {
  check_extremum(sequence);
  check_extremum(values);
  const c10::DeviceGuard guard(sequence.device());
  const auto options = values.options().dtype(narrow ? at::kInt : at::kLong);
  const int64_t length = sequence.size(-1);
  const Tensor result = at::zeros(values.sizes(), options);
  if (values.numel() == 0 || length == 0) return result;
  TORCH_CHECK(sequence.dim() == 1 || sequence.dim() == values.dim(),
              "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
              "tensor and input value tensor must match");
  const int64_t rows = sequence.dim() == 1 ? 1 : sequence.numel() / length;
  const Tensor table = values.reshape({rows, -1, 1}), edges = sequence.reshape({rows, 1, -1});
  const at::DimVector shape{rows, table.size(1), length};
  Tensor count = at::empty({rows, table.size(1), 1}, options.dtype(at::kInt));
  // Not "at least": so that NaN is after everything.
  const Expression before = make_expression([&](Expression& e) {
    const ElementValue x = e.input(0), edge = e.input(1);
    return 1.0 - compare(right ? AluOp::kGreater : AluOp::kGreaterEqual, edge, x);
  });
  reduce_into(count, {table.expand(shape), edges.expand(shape)},
              {.op = AluOp::kAdd, .prologue = before, .reduced = {false, false, true}});
  return result.copy_(count.view(values.sizes()));
}

/// torch's checks of searchsorted (ATen/native/BucketizationUtils.h), which its kernels do.
void check_search(const Tensor& sequence, const Tensor& values, bool right,
                  std::optional<c10::string_view> side, const std::optional<Tensor>& order) {
  constexpr auto kName = "torch.searchsorted(): ";
  TORCH_CHECK(!side || *side == "left" || *side == "right", kName,
              "side can only be 'left' or 'right' but got ", *side);
  TORCH_CHECK(!right || !side || *side == "right", kName, "side and right can't be set to ",
              "opposites, got side of left while right was True");
  TORCH_CHECK(values.dim() > 0 || sequence.dim() == 1, kName, "input value can be a scalar only ",
              "when boundaries tensor dimension is 1, but we got boundaries tensor dim(",
              sequence.dim(), ")");
  TORCH_CHECK(sequence.dim() > 0, kName, "boundaries tensor should have positive dimension, but ",
              "got 0 dimension");
  const bool matches =
      sequence.dim() == values.dim() &&
      sequence.sizes().slice(0, sequence.dim() - 1) == values.sizes().slice(0, sequence.dim() - 1);
  TORCH_CHECK(sequence.dim() == 1 || matches, kName, "boundaries tensor should be 1 dimension or ",
              "the first N-1 dimensions of boundaries tensor and input value tensor must match, ",
              "but we got boundaries tensor ", sequence.sizes(), " and input value tensor ",
              values.sizes());
  if (!order || !order->defined()) return;
  TORCH_CHECK(order->sizes() == sequence.sizes(), kName, "boundary and sorter must have the same ",
              "size, but got boundary tensor ", sequence.sizes(), " and got sorter tensor ",
              order->sizes());
  TORCH_CHECK(order->scalar_type() == at::kLong, kName, "sorter must be a tensor of long dtype ",
              "but got dtype ", order->scalar_type());
}

Tensor search(const Tensor& sequence, const Tensor& values, bool narrow, bool right,
              std::optional<c10::string_view> side, const std::optional<Tensor>& order) {
  check_search(sequence, values, right, side, order);
  const bool sorted = !order || !order->defined();
  return places(sorted ? sequence : sequence.gather(-1, *order), values,
                right || (side && *side == "right"), narrow);
}

Tensor search_number(const Tensor& sequence, const at::Scalar& value, bool narrow, bool right,
                     std::optional<c10::string_view> side, const std::optional<Tensor>& order) {
  const Tensor one = at::full({1}, value, sequence.options());
  return search(sequence, one, narrow, right, side, order).reshape({});
}

Tensor bucketize(const Tensor& values, const Tensor& sequence, bool narrow, bool right) {
  TORCH_CHECK(sequence.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
              sequence.dim(), ")");
  return places(sequence, values, right, narrow);
}

/// The gradients of unfold's windows, added at their places.
Tensor unfold_backward(const Tensor& gradient, c10::SymIntArrayRef sizes, int64_t dimension,
                       int64_t size, int64_t step) {
  check_computable(gradient.scalar_type());
  if (!gradient.is_floating_point()) throw Refusal{"the device adds floating dtypes here"};
  const c10::DeviceGuard guard(gradient.device());
  at::DimVector shape;
  for (const c10::SymInt& length : sizes) shape.push_back(length.expect_int());
  if (shape.empty()) return gradient.sum();  // of a window of zero or one elements
  const int64_t at = at::maybe_wrap_dim(dimension, static_cast<int64_t>(shape.size()));
  const Tensor sums = at::zeros(shape, gradient.options().dtype(at::kFloat));
  const int64_t windows = gradient.size(at);
  for (int64_t i = 0; i < size && windows > 0; ++i) {
    sums.slice(at, i, i + (windows - 1) * step + 1, step).add_(gradient.select(-1, i));
  }
  return sums.to(gradient.scalar_type());
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_cummax_helper", device_operator<running_extremum<true>>());
  m.impl("_cummin_helper", device_operator<running_extremum<false>>());
  m.impl("_logcumsumexp", device_operator<running_logarithm>());
  m.impl("_logcumsumexp.out", device_operator<running_logarithm_out>());
  m.impl("median", device_operator<median>());
  m.impl("median.dim_values", device_operator<median_out>());
  m.impl("searchsorted.Tensor", device_operator<search>());
  m.impl("searchsorted.Scalar", device_operator<search_number>());
  m.impl("bucketize.Tensor", device_operator<bucketize>());
  m.impl("unfold_backward", device_operator<unfold_backward>());
}

}  // namespace neuron_sim
