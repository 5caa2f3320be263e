// Arithmetic of two dense tensors of one floating dtype (plain_call.h), without an iterator.

#include <ATen/core/Tensor.h>
#include <ATen/ops/add_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/div_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/mul_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sub_compositeexplicitautogradnonfunctional_dispatch.h>
#include <torch/library.h>

#include <functional>

#include "csrc/aten/blocks/rows.h"
#include "csrc/aten/dispatch/plain_call.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/storage.h"

namespace neuron_sim {
namespace {

using at::Scalar;
using at::Tensor;

/// result = combine(a, prepare(b)) of plain tensors: the launch of the operator's row of the table,
/// which names the second tensor first (arithmetic.cpp).
template <typename Prepare, typename Combine>
Tensor launched(const Tensor& a, const Tensor& b, Prepare prepare, Combine combine) {
  const Tensor result = uninitialised(a.sizes(), a.scalar_type(), a.device());
  Expression expression;
  const ElementValue second = prepare(expression.input(0));
  expression.add_result(combine(expression.input(a.is_same(b) ? 0 : 1), second));
  const FlatDimensions flat(result);
  KernelCall call("pointwise", a.device());
  call.operand(b, flat.sizes(), flat.strides());
  if (!a.is_same(b)) call.operand(a, flat.sizes(), flat.strides());
  call.result(result, flat.sizes(), flat.strides()).launch(expression);
  return result;
}

template <typename Prepare, typename Combine, typename Torchs>
Tensor combined(const Tensor& a, const Tensor& b, Prepare prepare, Combine combine, Torchs torchs) {
  const bool plain =
      are_plain(a, b) && a.sizes() == b.sizes() && a.is_contiguous() && b.is_contiguous();
  return run_plain(
      plain, [&] { return launched(a, b, prepare, combine); }, torchs);
}

/// alpha * value; 1 costs nothing.
struct Scaled {
  const Scalar& alpha;
  ElementValue operator()(ElementValue value) const {
    const double factor = alpha.toDouble();
    return factor == 1 ? value : value * factor;
  }
};

bool is_real(const Scalar& alpha) { return !alpha.isBoolean() && !alpha.isComplex(); }

Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::add(a, b, alpha); };
  return is_real(alpha) ? combined(a, b, Scaled{alpha}, std::plus<>(), torchs) : torchs();
}

Tensor subtract(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::sub(a, b, alpha); };
  return is_real(alpha) ? combined(a, b, Scaled{alpha}, std::minus<>(), torchs) : torchs();
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::mul(a, b); };
  return combined(a, b, std::identity(), std::multiplies<>(), torchs);
}

Tensor divide(const Tensor& a, const Tensor& b) {
  const auto torchs = [&] { return at::compositeexplicitautogradnonfunctional::div(a, b); };
  return combined(a, b, std::identity(), std::divides<>(), torchs);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("add.Tensor", add);
  m.impl("sub.Tensor", subtract);
  m.impl("mul.Tensor", multiply);
  m.impl("div.Tensor", divide);
}

}  // namespace neuron_sim
