// Arithmetic of two dense tensors of one floating dtype (plain_call.h), without an iterator.

#include <ATen/core/Tensor.h>
#include <ATen/ops/add_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/div_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/mul_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sub_compositeexplicitautogradnonfunctional_dispatch.h>
#include <torch/library.h>

#include <functional>
#include <utility>

#include "csrc/aten/dispatch/plain_call.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/storage.h"

namespace neuron_sim {
namespace {

using at::Scalar;
using at::Tensor;

/// combine(a, prepare(b)) as the operator's row of the table has it, which names the second tensor
/// first (arithmetic.cpp). `same`: a and b are one tensor.
template <typename Prepare, typename Combine>
FormedExpression formed(bool same, Prepare prepare, Combine combine) {
  Expression expression;
  const ElementValue second = prepare(expression.input(0));
  expression.add_result(combine(expression.input(same ? 0 : 1), second));
  return FormedExpression(std::move(expression));
}

/// result = formed expression of plain tensors.
Tensor launched(const Tensor& a, const Tensor& b, const FormedExpression& formed) {
  const Tensor result = uninitialised(a.sizes(), a.scalar_type(), a.device());
  const FlatDimensions flat(result);
  KernelCall call("pointwise", a.device());
  call.operand(b, flat.sizes(), flat.strides());
  if (!a.is_same(b)) call.operand(a, flat.sizes(), flat.strides());
  call.result(result, flat.sizes(), flat.strides()).launch(formed.expression, &formed.form);
  return result;
}

bool are_plain_pair(const Tensor& a, const Tensor& b) {
  return are_plain(a, b) && a.sizes() == b.sizes() && a.is_contiguous() && b.is_contiguous();
}

/// combine(a, b), whose forms are kept for the process.
template <typename Combine, typename Torchs>
Tensor combined(const Tensor& a, const Tensor& b, Combine combine, Torchs torchs) {
  static const FormedExpression of_two = formed(false, std::identity(), combine);
  static const FormedExpression of_one = formed(true, std::identity(), combine);
  return run_plain(
      are_plain_pair(a, b), [&] { return launched(a, b, a.is_same(b) ? of_one : of_two); }, torchs);
}

/// combine(a, alpha * b), where an alpha of 1 costs nothing.
template <typename Combine, typename Torchs>
Tensor combined(const Tensor& a, const Tensor& b, const Scalar& alpha, Combine combine,
                Torchs torchs) {
  const double factor = alpha.toDouble();
  if (factor == 1) return combined(a, b, combine, torchs);
  const auto scaled = [factor](ElementValue value) { return value * factor; };
  return run_plain(
      are_plain_pair(a, b), [&] { return launched(a, b, formed(a.is_same(b), scaled, combine)); },
      torchs);
}

bool is_real(const Scalar& alpha) { return !alpha.isBoolean() && !alpha.isComplex(); }

Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::add(a, b, alpha); };
  return is_real(alpha) ? combined(a, b, alpha, std::plus<>(), torchs) : torchs();
}

Tensor subtract(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::sub(a, b, alpha); };
  return is_real(alpha) ? combined(a, b, alpha, std::minus<>(), torchs) : torchs();
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::mul(a, b); };
  return combined(a, b, std::multiplies<>(), torchs);
}

Tensor divide(const Tensor& a, const Tensor& b) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::div(a, b); };
  return combined(a, b, std::divides<>(), torchs);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("add.Tensor", add);
  m.impl("sub.Tensor", subtract);
  m.impl("mul.Tensor", multiply);
  m.impl("div.Tensor", divide);
}

}  // namespace neuron_sim
