// Norms of vectors.

#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/reduction/arguments.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::OptionalIntArrayRef;
using at::Scalar;
using at::Tensor;

/// The norm of order `order` as a reduction.
ReductionOptions norm_options(double order) {
  const auto magnitude = [](ElementValue x) { return x.expression().alu(AluOp::kAbs, x); };
  if (order == 2) {
    return {.op = AluOp::kAdd,
            .prologue = expression_of([](ElementValue x) { return x * x; }),
            .epilogue = expression_of([](ElementValue x) { return call(Activation::kSqrt, x); })};
  }
  if (std::isinf(order)) {
    return {.op = order > 0 ? AluOp::kMaximum : AluOp::kMinimum,
            .prologue = expression_of(magnitude)};
  }
  if (order == 1) return {.op = AluOp::kAdd, .prologue = expression_of(magnitude)};
  if (order == 0) {
    return {.op = AluOp::kAdd, .prologue = expression_of([](ElementValue x) {
                                 return compare(AluOp::kNotEqual, x, 0);
                               })};
  }
  const auto power = [](ElementValue x, double exponent) {
    return x.expression().alu(AluOp::kPower, x, x.expression().constant(exponent));
  };
  return {
      .op = AluOp::kAdd,
      .prologue = expression_of([&](ElementValue x) { return power(magnitude(x), order); }),
      .epilogue = expression_of([&](ElementValue x) { return power(x, 1 / order); }),
  };
}

Tensor& vector_norm_out(const Tensor& self, const Scalar& order, OptionalIntArrayRef dimensions,
                        bool keep, OptionalDtype /*dtype*/, Tensor& out) {
  check_reduced_dtype(self);
  check_reduced_dtype(out);
  ReductionOptions options = norm_options(order.toDouble());
  options.reduced = reduced_flags(self, dimensions, true);
  shape_result(self, options.reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, 0);
  return reduce_into(out, self, options);
}

Tensor& norm_out(const Tensor& self, const std::optional<Scalar>& order, IntArrayRef dimensions,
                 bool keep, Tensor& out) {
  return vector_norm_out(self, order.value_or(2), dimensions, keep, std::nullopt, out);
}

Tensor& norm_dtype_out(const Tensor& self, const std::optional<Scalar>& order,
                       IntArrayRef dimensions, bool keep, at::ScalarType dtype, Tensor& out) {
  return vector_norm_out(self, order.value_or(2), dimensions, keep, dtype, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("linalg_vector_norm.out", device_operator<vector_norm_out>());
  m.impl("norm.out", device_operator<norm_out>());
  m.impl("norm.dtype_out", device_operator<norm_dtype_out>());
}

}  // namespace neuron_sim
