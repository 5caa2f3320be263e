// Activation functions of torch.nn.

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;

/// Of two zeros the engines take the second operand: the value, whose sign torch keeps.
Value relu(Arguments& a) { return maximum(a.constant(0), a.value(0)); }

Value gelu(Arguments& a) {
  TORCH_CHECK(a.text(1) == "tanh" || a.text(1) == "none",
              "approximate argument must be either none or tanh.");
  return call(a.text(1) == "tanh" ? Activation::kGeluApproximateTanh : Activation::kGelu,
              a.value(0));
}

template <Activation function>
Value engine(Arguments& a) {
  return call(function, a.value(0));
}

Value hard_tanh(Arguments& a) { return clamped(a.value(0), a.number(1), a.number(2)); }

Value hard_swish(Arguments& a) {
  return a.value(0) * (clamped(a.value(0) + 3.0, 0, 6) * (1.0 / 6));
}

Value hard_sigmoid(Arguments& a) { return clamped(a.value(0) + 3.0, 0, 6) * (1.0 / 6); }

Value leaky_relu(Arguments& a) {
  const Value x = a.value(0);
  return select(compare(AluOp::kGreater, x, 0), x, x * a.number(1));
}

/// alpha, scale and input_scale.
Value elu(Arguments& a) {
  const Value x = a.value(0);
  const Value below = exp_minus_one(minimum(a.constant(0), x) * a.number(3));
  return select(compare(AluOp::kGreater, x, 0), x * a.number(2),
                below * (a.number(1) * a.number(2)));
}

/// beta and threshold.
Value softplus(Arguments& a) {
  const Value scaled = a.value(0) * a.number(1);
  return select(compare(AluOp::kGreater, scaled, a.number(2)), a.value(0),
                call(Activation::kSoftplus, scaled) * (1 / a.number(1)));
}

Value soft_shrink(Arguments& a) {
  const Value x = a.value(0);
  const double limit = a.number(1);
  return select(compare(AluOp::kGreater, x, limit), x - limit,
                select(compare(AluOp::kLess, x, -limit), x + limit, x * 0.0));
}

Value hard_shrink(Arguments& a) {
  const Value x = a.value(0);
  return select(compare(AluOp::kLessEqual, absolute(x), a.number(1)), a.constant(0), x);
}

/// As on the CPU, the threshold is not rounded to half precision; the value is.
Value threshold(Arguments& a) {
  // In place, torch accepts expanded tensors: a second application changes nothing.
  if (a.overlaps_itself(3)) throw Refusal{"elements of the tensor share memory"};
  const Value x = a.value(0);
  return select(compare(AluOp::kLessEqual, x, a.fp32_number(1)), a.value(2), x);
}

Value logit(Arguments& a) {
  Value x = a.value(0);
  if (a.has(1) && a.number(1) >= 0) {
    const double least = a.number(1);
    x = clamped(x, least, 1 - least);
    // As on the CPU, the lower limit comes first where the limits are the wrong way round.
    if (least > 0.5) x = select(compare(AluOp::kLess, a.value(0), least), a.constant(least), x);
  }
  return call(Activation::kLog, x / (1.0 - x));
}

Value prelu(Arguments& a) {
  const Value x = a.value(0);
  return select(compare(AluOp::kGreater, x, 0), x, x * a.value(1));
}

constexpr PointwiseRow kActivationRows[] = {
    {"relu relu_", kCommon, kComputed, relu, 0b1, Accepts::kNumbers},
    {"gelu.out", kCommon, kComputed, gelu, 0b1, Accepts::kFloats},
    {"silu.out", kCommon, kComputed, engine<Activation::kSilu>, 0b1, Accepts::kFloats},
    {"mish.out", kCommon, kComputed, engine<Activation::kMish>, 0b1, Accepts::kFloats},
    {"hardtanh hardtanh_ hardtanh.out", kCommon, kComputed, hard_tanh, 0b1, Accepts::kNumbers,
     Numbers::kChecked},
    {"hardswish hardswish_ hardswish.out", kCommon, kComputed, hard_swish, 0b1, Accepts::kFloats},
    {"hardsigmoid.out", kCommon, kComputed, hard_sigmoid, 0b1, Accepts::kFloats},
    {"leaky_relu.out", kCommon, kComputed, leaky_relu, 0b1, Accepts::kFloats},
    {"elu.out", kCommon, kComputed, elu, 0b1, Accepts::kFloats},
    {"softplus.out", kCommon, kComputed, softplus, 0b1, Accepts::kFloats},
    {"softshrink.out", kCommon, kComputed, soft_shrink, 0b1, Accepts::kFloats},
    {"hardshrink.out", kCommon, kComputed, hard_shrink, 0b1, Accepts::kFloats, Numbers::kChecked},
    {"threshold.out", kCommon, kComputed, threshold, 0b1, Accepts::kNumbers, Numbers::kChecked},
    {"logit logit.out", kFloat, kComputed, logit, 0b1},
    {"_prelu_kernel", kCommon, kComputed, prelu, 0b11, Accepts::kFloats},
};

}  // namespace

std::span<const PointwiseRow> activation_rows() { return kActivationRows; }

}  // namespace neuron_sim
