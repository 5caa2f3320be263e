// scatter_reduce and index_reduce: elements with the same target index are combined.
// Algorithm: the order of the indices is int64 index arithmetic; elements in that order are
// combined with their neighbours of the same place at distances 1, 2, 4, ..., so that the last one
// of each place has all of them.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <string_view>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/index_bounds.h"
#include "csrc/aten/indexing/operands.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// The names of scatter_reduce and index_reduce.
bool is_product(std::string_view name) { return name == "prod"; }
bool is_mean(std::string_view name) { return name == "mean"; }

Tensor combined(std::string_view name, const Tensor& a, const Tensor& b) {
  if (name == "amax") return at::maximum(a, b);
  if (name == "amin") return at::minimum(a, b);
  return is_product(name) ? a * b : a + b;
}

/// The number of indices that name each place along the last dimension, int64.
Tensor counts_of(const Tensor& indices, const Tensor& like) {
  return at::zeros(like.sizes(), indices.options())
      .scatter_add(-1, indices, at::ones_like(indices));
}

/// The combination of all elements that name a place, where counts are not zero. Last dimensions.
Tensor combined_by_place(std::string_view name, const Tensor& indices, const Tensor& source,
                         const Tensor& counts) {
  const auto [place, order] = indices.sort(true, -1, false);
  Tensor values = source.gather(-1, order);
  const int64_t length = place.size(-1), longest = counts.max().item<int64_t>();
  for (int64_t step = 1; step < longest; step *= 2) {
    const int64_t rest = length - step;
    const Tensor tail = values.narrow(-1, step, rest);
    const Tensor same = place.narrow(-1, step, rest).eq(place.narrow(-1, 0, rest));
    const Tensor joined = at::where(same, combined(name, tail, values.narrow(-1, 0, rest)), tail);
    values = at::cat({values.narrow(-1, 0, step), joined}, -1);
  }
  const Tensor last = (counts.cumsum(-1) - 1).clamp(0);
  return values.gather(-1, last);
}

/// Along the last dimension; `self` is combined too with include_self.
Tensor reduced(std::string_view name, const Tensor& self, const Tensor& indices,
               const Tensor& source, bool include_self) {
  const Tensor counts = counts_of(indices, self);
  const Tensor named = counts.gt(0);
  const bool adds = name == "sum" || is_mean(name);
  if (!adds) {
    const Tensor found = combined_by_place(name, indices, source, counts);
    return at::where(named, include_self ? combined(name, self, found) : found, self);
  }
  const Tensor start =
      include_self ? self : at::where(named, at::zeros(at::IntArrayRef{}, self.options()), self);
  const Tensor sums = start.scatter_add(-1, indices, source);
  if (!is_mean(name)) return sums;
  return sums / (counts + static_cast<int64_t>(include_self)).clamp(1).to(at::kFloat);
}

void check_reducible(const Tensor& self, const Tensor& indices) {
  check_computable(self.scalar_type());
  check_indices(indices);
  if (!self.is_floating_point()) throw Refusal{"the device combines floating dtypes here"};
}

Tensor& reduce_along(const Tensor& self, int64_t dimension, const Tensor& given,
                     const Tensor& source, c10::string_view name, bool include_self,
                     OutOfBounds error, Tensor& out) {
  check_reducible(self, given);
  check_out_dtype(out, self.scalar_type());
  const c10::DeviceGuard guard(self.device());
  at::native::resize_output(out, self.sizes());
  if (given.numel() == 0) return out.copy_(self);
  const bool scalar = self.dim() == 0;
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  check_bounds(given, {scalar ? 1 : self.size(at), error, at});
  const auto whole = [&](const Tensor& tensor) { return scalar ? tensor.reshape(1) : tensor; };
  // Only the elements with an index take part.
  const Tensor indices = whole(given).to(at::kLong);
  Tensor target = whole(self).to(at::kFloat).clone(at::MemoryFormat::Contiguous);
  Tensor part = target, values = whole(source).to(at::kFloat);
  for (int64_t i = 0; i < indices.dim(); ++i) {
    values = values.narrow(i, 0, indices.size(i));
    if (i != at) part = part.narrow(i, 0, indices.size(i));
  }
  const auto last = [&](const Tensor& tensor) { return tensor.movedim(at, -1).contiguous(); };
  const Tensor result = reduced(name, last(part), last(indices), last(values), include_self);
  part.copy_(result.movedim(-1, at));
  return out.copy_(target.view(out.sizes()));
}

Tensor& scatter_reduce_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                           const Tensor& source, c10::string_view name, bool include_self,
                           Tensor& out) {
  return reduce_along(self, dimension, indices, source, name, include_self, OutOfBounds::kElement,
                      out);
}

Tensor& index_reduce_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                         const Tensor& source, c10::string_view name, bool include_self,
                         Tensor& out) {
  check_reducible(self, indices);
  if (self.dim() == 0) throw Refusal{"the tensor has no dimensions"};
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  at::DimVector shape(static_cast<size_t>(self.dim()), 1);
  shape[static_cast<size_t>(at)] = indices.numel();
  return reduce_along(self, at, indices.reshape(shape).expand(source.sizes()), source, name,
                      include_self, OutOfBounds::kRowOfSelf, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("scatter_reduce.two_out", device_operator<scatter_reduce_out>());
  m.impl("index_reduce.out", device_operator<index_reduce_out>());
}

}  // namespace neuron_sim
