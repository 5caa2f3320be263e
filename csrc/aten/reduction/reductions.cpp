// Sums, means, extrema, norms and variances over any dimensions.

#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::OptionalIntArrayRef;
using at::Scalar;
using at::Tensor;
using OptionalDtype = std::optional<at::ScalarType>;

/// An expression of input 0.
template <typename Function>
Expression expression_of(Function function) {
  Expression expression;
  expression.add_result(function(expression.input(0)));
  return expression;
}

Expression scaled_by(double factor) {
  return expression_of([&](ElementValue x) { return x * factor; });
}

std::vector<bool> flags_of(const Tensor& self, OptionalIntArrayRef dimensions, bool empty_is_all) {
  const size_t rank = static_cast<size_t>(self.dim());
  if (!dimensions || (dimensions->empty() && empty_is_all)) return std::vector<bool>(rank, true);
  const auto set = at::dim_list_to_bitset(dimensions, self.dim());
  std::vector<bool> flags(rank);
  for (size_t i = 0; i < rank; ++i) flags[i] = set[i];
  return flags;
}

int64_t count_of(const Tensor& self, const std::vector<bool>& reduced) {
  int64_t count = 1;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i]) count *= self.size(static_cast<int64_t>(i));
  }
  return count;
}

at::DimVector shape_of(const Tensor& self, const std::vector<bool>& reduced, bool keep) {
  at::DimVector shape;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) shape.push_back(self.size(static_cast<int64_t>(i)));
    if (reduced[i] && keep) shape.push_back(1);
  }
  return shape;
}

/// Gives an out= tensor the shape of the result.
void shape_result(const Tensor& self, const std::vector<bool>& reduced, bool keep, Tensor& out) {
  at::native::resize_output(out, shape_of(self, reduced, keep));
}

void check_reduced_dtype(const Tensor& self) {
  check_computable(self.scalar_type());
  if (!c10::isFloatingType(self.scalar_type())) {
    throw Refusal{"the engines add integers in fp32, which is not exact"};
  }
}

Tensor& fill_empty(Tensor& out, double value) {
  if (out.numel() > 0) out.fill_(value);
  return out;
}

Tensor& sum_out(const Tensor& self, OptionalIntArrayRef dimensions, bool keep,
                OptionalDtype /*dtype*/, Tensor& out) {
  check_computable(self.scalar_type());
  const std::vector<bool> reduced = flags_of(self, dimensions, true);
  shape_result(self, reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, 0);
  if (!out.is_floating_point()) return out.copy_(exact_sums(self, dimensions, keep));
  return reduce_into(out, self, {.op = AluOp::kAdd, .reduced = reduced});
}

Tensor& mean_out(const Tensor& self, OptionalIntArrayRef dimensions, bool keep,
                 OptionalDtype /*dtype*/, Tensor& out) {
  check_reduced_dtype(self);
  check_reduced_dtype(out);
  const std::vector<bool> reduced = flags_of(self, dimensions, true);
  shape_result(self, reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, std::nan(""));
  const double factor = 1.0 / static_cast<double>(count_of(self, reduced));
  return reduce_into(out, self,
                     {.op = AluOp::kAdd, .epilogue = scaled_by(factor), .reduced = reduced});
}

template <AluOp op>
Tensor& extremum_out(const Tensor& self, IntArrayRef dimensions, bool keep, Tensor& out) {
  TORCH_CHECK(self.scalar_type() == out.scalar_type(),
              "Expected the dtype for input and out to match, but got ", self.scalar_type(),
              " for input's dtype and ", out.scalar_type(), " for out's dtype.");
  check_computable(self.scalar_type());
  const std::vector<bool> reduced = flags_of(self, dimensions, true);
  shape_result(self, reduced, keep, out);
  if (self.scalar_type() == at::kInt) {
    return out.copy_(exact_extremum(self, dimensions, op == AluOp::kMaximum).view(out.sizes()));
  }
  return reduce_into(out, self, {.op = op, .reduced = reduced});
}

template <AluOp op>
Tensor extremum(const Tensor& self) {
  check_computable(self.scalar_type());
  TORCH_CHECK(self.numel() > 0,
              "max(): Expected reduction dim to be specified for input.numel() "
              "== 0. Specify the reduction dim with the 'dim' argument.");
  const c10::DeviceGuard guard(self.device());
  if (self.scalar_type() == at::kInt) {
    return exact_extremum(self, {}, op == AluOp::kMaximum).view(at::IntArrayRef{});
  }
  Tensor out = at::empty({}, self.options());
  return reduce_into(out, self, {.op = op, .reduced = flags_of(self, std::nullopt, true)});
}

Tensor& product_out(const Tensor& self, int64_t dimension, bool keep, OptionalDtype /*dtype*/,
                    Tensor& out) {
  check_reduced_dtype(self);
  check_reduced_dtype(out);
  const std::vector<bool> reduced = flags_of(self, {{dimension}}, false);
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
                     {.op = AluOp::kMultiply, .reduced = flags_of(self, std::nullopt, true)});
}

/// Whether any element is not zero (kMaximum), or all are not (kMinimum).
template <AluOp op>
Tensor& truth_into(Tensor& out, const Tensor& self, std::vector<bool> reduced, bool keep) {
  check_computable(self.scalar_type());
  TORCH_CHECK(out.scalar_type() == at::kBool || out.scalar_type() == at::kByte,
              op == AluOp::kMinimum ? "all" : "any",
              " only supports bool tensor for result, got: ", out.scalar_type());
  shape_result(self, reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, op == AluOp::kMinimum ? 1 : 0);
  const Expression is_set =
      expression_of([](ElementValue x) { return compare(AluOp::kNotEqual, x, 0); });
  return reduce_into(out, self, {.op = op, .prologue = is_set, .reduced = std::move(reduced)});
}

template <AluOp op>
Tensor& truth_out(const Tensor& self, int64_t dimension, bool keep, Tensor& out) {
  return truth_into<op>(out, self, flags_of(self, {{dimension}}, false), keep);
}

template <AluOp op>
Tensor& truth_dims_out(const Tensor& self, OptionalIntArrayRef dimensions, bool keep, Tensor& out) {
  return truth_into<op>(out, self, flags_of(self, dimensions, false), keep);
}

template <AluOp op>
Tensor& truth_all_out(const Tensor& self, Tensor& out) {
  return truth_into<op>(out, self, flags_of(self, std::nullopt, true), false);
}

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
  options.reduced = flags_of(self, dimensions, true);
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

/// torch's warning where a variance has no degrees of freedom.
void warn_without_freedom(const char* name, int64_t count, double correction) {
  if (static_cast<double>(count) - correction > 0) return;
  TORCH_WARN(name, "(): degrees of freedom is <= 0. Correction should be strictly less than the ",
             "reduction factor (input numel divided by output numel).");
}

/// Variance or its root, and the mean in fp32, from which deviations are taken.
std::tuple<Tensor, Tensor> moments(const char* name, const Tensor& self,
                                   OptionalIntArrayRef dimensions,
                                   const std::optional<Scalar>& correction, bool keep, bool root) {
  check_reduced_dtype(self);
  const c10::DeviceGuard guard(self.device());
  const std::vector<bool> reduced = flags_of(self, dimensions, true);
  const double without = correction.value_or(1).toDouble();
  warn_without_freedom(name, count_of(self, reduced), without);
  if (self.numel() == 0) {
    Tensor nothing = at::empty(shape_of(self, reduced, keep), self.options());
    fill_empty(nothing, std::nan(""));
    return {nothing, nothing.clone()};
  }
  const double count = static_cast<double>(count_of(self, reduced));
  const double divisor = std::max(0.0, count - without);
  const at::DimVector shape = shape_of(self, reduced, keep);
  Tensor variance = at::empty(shape, self.options());
  const Tensor exact = at::empty(shape_of(self, reduced, true), self.options().dtype(at::kFloat));
  Expression deviation;
  const ElementValue difference = deviation.input(0) - deviation.input(1);
  deviation.add_result(difference * difference);
  const Expression finish = expression_of([&](ElementValue sum) {
    const ElementValue result = sum / sum.expression().constant(divisor);
    return root ? call(Activation::kSqrt, result) : result;
  });
  Tensor target = exact;
  reduce_into(target, self,
              {.op = AluOp::kAdd, .epilogue = scaled_by(1.0 / count), .reduced = reduced});
  reduce_into(variance, {self, exact.expand_as(self)},
              {.op = AluOp::kAdd, .prologue = deviation, .epilogue = finish, .reduced = reduced});
  return {variance, exact.view(shape)};
}

template <bool root>
Tensor spread(const Tensor& self, OptionalIntArrayRef dimensions,
              const std::optional<Scalar>& correction, bool keep) {
  return std::get<0>(moments(root ? "std" : "var", self, dimensions, correction, keep, root));
}

template <bool root>
std::tuple<Tensor, Tensor> spread_and_mean(const Tensor& self, OptionalIntArrayRef dimensions,
                                           const std::optional<Scalar>& correction, bool keep) {
  const auto [variance, mean] =
      moments(root ? "std_mean" : "var_mean", self, dimensions, correction, keep, root);
  return {variance, mean.to(self.scalar_type())};
}

template <bool root>
Tensor& spread_out(const Tensor& self, OptionalIntArrayRef dimensions,
                   const std::optional<Scalar>& correction, bool keep, Tensor& out) {
  return give_result(spread<root>(self, dimensions, correction, keep), out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sum.IntList_out", device_operator<sum_out>());
  m.impl("mean.out", device_operator<mean_out>());
  m.impl("amax.out", device_operator<extremum_out<AluOp::kMaximum>>());
  m.impl("amin.out", device_operator<extremum_out<AluOp::kMinimum>>());
  m.impl("max", device_operator<extremum<AluOp::kMaximum>>());
  m.impl("min", device_operator<extremum<AluOp::kMinimum>>());
  m.impl("prod.int_out", device_operator<product_out>());
  m.impl("prod", device_operator<product>());
  m.impl("any.out", device_operator<truth_out<AluOp::kMaximum>>());
  m.impl("any.dims_out", device_operator<truth_dims_out<AluOp::kMaximum>>());
  m.impl("any.all_out", device_operator<truth_all_out<AluOp::kMaximum>>());
  m.impl("all.out", device_operator<truth_out<AluOp::kMinimum>>());
  m.impl("all.dims_out", device_operator<truth_dims_out<AluOp::kMinimum>>());
  m.impl("all.all_out", device_operator<truth_all_out<AluOp::kMinimum>>());
  m.impl("linalg_vector_norm.out", device_operator<vector_norm_out>());
  m.impl("norm.out", device_operator<norm_out>());
  m.impl("norm.dtype_out", device_operator<norm_dtype_out>());
  m.impl("var.correction", device_operator<spread<false>>());
  m.impl("std.correction", device_operator<spread<true>>());
  m.impl("var.correction_out", device_operator<spread_out<false>>());
  m.impl("std.correction_out", device_operator<spread_out<true>>());
  m.impl("var_mean.correction", device_operator<spread_and_mean<false>>());
  m.impl("std_mean.correction", device_operator<spread_and_mean<true>>());
}

}  // namespace neuron_sim
