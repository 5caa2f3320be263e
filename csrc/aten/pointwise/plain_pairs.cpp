// Arithmetic of two dense tensors of one floating dtype, without the output pass, the second
// dispatch and the iterator that torch derives for structured operators. Everything else takes
// that way, and so do calls that something follows or captures.

#include <ATen/core/Tensor.h>
#include <ATen/ops/add_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/div_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/mul_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sub_compositeexplicitautogradnonfunctional_dispatch.h>
#include <torch/library.h>

#include <functional>

#include "csrc/aten/blocks/rows.h"
#include "csrc/launch/capture.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/launch_origin.h"
#include "csrc/launch/storage.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"

namespace neuron_sim {
namespace {

using at::Scalar;
using at::Tensor;

bool is_plain(const Tensor& tensor) {
  return on_device(tensor) && tensor.is_contiguous() && !tensor.is_neg();
}

bool are_plain(const Tensor& a, const Tensor& b) {
  const at::ScalarType type = a.scalar_type();
  const bool floating = type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
  return floating && b.scalar_type() == type && a.sizes() == b.sizes() && is_plain(a) &&
         is_plain(b) && a.device() == b.device() && a.numel() > 0 && !follows_operators() &&
         GraphCapture::active() == nullptr;
}

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

/// The same, or `torchs()` for other tensors and where the chip refuses these.
template <typename Prepare, typename Combine, typename Torchs>
Tensor combined(const Tensor& a, const Tensor& b, Prepare prepare, Combine combine, Torchs torchs) {
  if (!are_plain(a, b)) return torchs();
  try {
    return launched(a, b, prepare, combine);
  } catch (const KernelError&) {
    return torchs();  // says it in its words, or computes on the host
  } catch (const SimulatorBug& bug) {
    throw_torch_error(bug);
  }
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
