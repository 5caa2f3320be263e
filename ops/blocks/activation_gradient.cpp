#include "ops/blocks/activation_gradient.h"

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

/// fp32 scratch tiles that a derivative needs besides the sums.
int scratch_tiles(Activation function) {
  switch (function) {
    case Activation::kSigmoid:
    case Activation::kTanh:
    case Activation::kRsqrt: return 1;
    default: return 0;
  }
}

Dtype integers_like(Dtype dtype) { return itemsize(dtype) == 4 ? Dtype::kInt32 : Dtype::kInt16; }

/// 16-bit gradients need a mask tile; 32-bit ones are masked by the bits of the sums.
bool needs_mask(Activation function, Dtype dtype) {
  return function == Activation::kRelu && itemsize(dtype) != itemsize(Dtype::kFloat32);
}

}  // namespace

ActivationGradient::ActivationGradient(Builder& builder, Activation function,
                                       const std::vector<int64_t>& shape, Dtype dtype, int ring)
    : builder_(builder), function_(function) {
  if (scratch_tiles(function) > 0)
    first_ = builder.sbuf("derivative", shape, Dtype::kFloat32, ring);
  if (needs_mask(function, dtype)) mask_ = builder.sbuf("mask", shape, integers_like(dtype), ring);
}

int64_t ActivationGradient::scratch_bytes(Activation function, Dtype dtype) {
  return scratch_tiles(function) * itemsize(Dtype::kFloat32) +
         (needs_mask(function, dtype) ? itemsize(dtype) : 0);
}

View ActivationGradient::cut(const View& tile, const View& like, const Affine& turn) {
  View result = tile.turn(turn);
  for (int i = 0; i < like.rank(); ++i) result = result.slice(i, 0, like.size(i));
  return result;
}

void ActivationGradient::emit(const View& dst, const View& gradient, const View& sum,
                              const Affine& turn) {
  if (function_ == Activation::kIdentity) {
    builder_.emit(TensorCopy{.dst = dst, .src = gradient});
  } else if (function_ == Activation::kRelu) {
    emit_relu(dst, gradient, sum, turn);
  } else {
    derive(sum, turn);
    const AluOp op = function_ == Activation::kSqrt ? AluOp::kDivide : AluOp::kMultiply;
    builder_.emit(TensorTensor{.dst = dst, .data1 = gradient, .data2 = sum, .op = op});
  }
}

/// Bits of the gradient where the sum is not below or at 0; a product would make NaN of 0 * inf.
void ActivationGradient::emit_relu(const View& dst, const View& gradient, const View& sum,
                                   const Affine& turn) {
  const Dtype integers = integers_like(gradient.dtype());
  const View mask = mask_.present() ? cut(mask_, sum, turn) : sum.reinterpret(integers);
  // 1 - 1 = 0 where sum <= 0, 0 - 1 = all bits elsewhere.
  builder_.emit(TensorScalar{.dst = mask,
                             .data = sum,
                             .op0 = AluOp::kLessEqual,
                             .constant0 = 0,
                             .op1 = AluOp::kSubtract,
                             .constant1 = 1});
  const bool casts = dst.dtype() != gradient.dtype();
  builder_.emit(TensorTensor{.dst = casts ? mask : dst.reinterpret(integers),
                             .data1 = gradient.reinterpret(integers),
                             .data2 = mask,
                             .op = AluOp::kBitwiseAnd});
  if (casts) builder_.emit(Activate{.dst = dst, .data = mask.reinterpret(gradient.dtype())});
}

void ActivationGradient::derive(const View& sum, const Affine& turn) {
  const auto apply = [&](const View& dst, Activation function, double scale = 1) {
    builder_.emit(Activate{.dst = dst, .data = sum, .op = function, .scale = scale});
  };
  const auto one_minus = [&](const View& tile, const View& source) {
    builder_.emit(TensorScalar{.dst = tile,
                               .data = source,
                               .op0 = AluOp::kMultiply,
                               .constant0 = -1,
                               .op1 = AluOp::kAdd,
                               .constant1 = 1});
  };
  const auto multiply = [&](const View& factor) {
    builder_.emit(TensorTensor{.dst = sum, .data1 = sum, .data2 = factor, .op = AluOp::kMultiply});
  };
  const View first = first_.present() ? cut(first_, sum, turn) : View();
  switch (function_) {
    case Activation::kExp: return apply(sum, Activation::kExp);
    case Activation::kSigmoid:
      apply(sum, Activation::kSigmoid);
      one_minus(first, sum);
      return multiply(first);
    case Activation::kTanh:
      apply(sum, Activation::kTanh);
      apply(first, Activation::kSquare);
      return one_minus(sum, first);
    case Activation::kSquare: return apply(sum, Activation::kIdentity, 2);
    case Activation::kSqrt:  // the divisor of the gradient
      apply(sum, Activation::kSqrt);
      return apply(sum, Activation::kIdentity, 2);
    case Activation::kRsqrt:
      apply(sum, Activation::kRsqrt);
      apply(first, Activation::kSquare);
      apply(sum, Activation::kIdentity, -0.5);
      return multiply(first);
    case Activation::kGelu: return apply(sum, Activation::kGeluDx);
    default: require(false, "the function has a derivative here");
  }
}

}  // namespace neuron_sim
