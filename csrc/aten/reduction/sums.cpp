// Sums, means and products, and numbers of elements that are not zero.

#include <ATen/ops/empty.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sum.h>
#include <c10/core/DeviceGuard.h>

#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/reduction/arguments.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::OptionalIntArrayRef;
using at::Tensor;

Tensor& sum_out(const Tensor& self, OptionalIntArrayRef dimensions, bool keep,
                OptionalDtype /*dtype*/, Tensor& out) {
  check_computable(self.scalar_type());
  const std::vector<bool> reduced = reduced_flags(self, dimensions, true);
  shape_result(self, reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, 0);
  if (!out.is_floating_point()) return out.copy_(exact_sums(self, dimensions, keep));
  return reduce_into(out, self, {.op = AluOp::kAdd, .reduced = reduced});
}

Tensor& mean_out(const Tensor& self, OptionalIntArrayRef dimensions, bool keep,
                 OptionalDtype /*dtype*/, Tensor& out) {
  check_reduced_dtype(self);
  check_reduced_dtype(out);
  const std::vector<bool> reduced = reduced_flags(self, dimensions, true);
  shape_result(self, reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, std::nan(""));
  const double factor = 1.0 / static_cast<double>(reduced_count(self, reduced));
  return reduce_into(out, self,
                     {.op = AluOp::kAdd, .epilogue = scaled_by(factor), .reduced = reduced});
}

Tensor& product_out(const Tensor& self, int64_t dimension, bool keep, OptionalDtype /*dtype*/,
                    Tensor& out) {
  check_reduced_dtype(self);
  check_reduced_dtype(out);
  const std::vector<bool> reduced = reduced_flags(self, {{dimension}}, false);
  shape_result(self, reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, 1);
  return reduce_into(out, self, {.op = AluOp::kMultiply, .reduced = reduced});
}

Tensor product(const Tensor& self, OptionalDtype dtype) {
  check_reduced_dtype(self);
  const at::ScalarType type = dtype.value_or(self.scalar_type());
  if (type != self.scalar_type() && type != at::kFloat) {
    throw Refusal{"the operands are rounded to the dtype of the product first"};
  }
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({}, self.options().dtype(type));
  if (self.numel() == 0) return fill_empty(out, 1);
  return reduce_into(out, self,
                     {.op = AluOp::kMultiply, .reduced = reduced_flags(self, std::nullopt, true)});
}

Tensor& nansum_out(const Tensor& self, at::OptionalIntArrayRef dimensions, bool keep,
                   std::optional<at::ScalarType> dtype, Tensor& out) {
  check_floating(self);
  return give_result(at::sum(self.nan_to_num(0, INFINITY, -INFINITY), dimensions, keep, dtype),
                     out);
}

Tensor nansum(const Tensor& self, at::OptionalIntArrayRef dimensions, bool keep,
              std::optional<at::ScalarType> dtype) {
  check_floating(self);
  return at::sum(self.nan_to_num(0, INFINITY, -INFINITY), dimensions, keep, dtype);
}

/// Exact, in int64; a NaN is not zero.
Tensor count_nonzero(const Tensor& self, IntArrayRef dimensions) {
  check_computable(self.scalar_type());
  return exact_sums(at::ne(self, 0), dimensions, /*keep=*/false);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sum.IntList_out", device_operator<sum_out>());
  m.impl("mean.out", device_operator<mean_out>());
  m.impl("prod.int_out", device_operator<product_out>());
  m.impl("prod", device_operator<product>());
  m.impl("nansum", device_operator<nansum>());
  m.impl("nansum.out", device_operator<nansum_out>());
  m.impl("count_nonzero.dim_IntList", device_operator<count_nonzero>());
}

}  // namespace neuron_sim
