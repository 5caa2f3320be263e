#include <functional>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/pointwise/operator_table.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;

/// alpha * value; 1 costs nothing.
Value scaled(Arguments& a, Value value, size_t alpha) {
  const double factor = a.number(alpha);
  return factor == 1 ? value : value * factor;
}

/// operation(argument 0, second), with the second one's tensors first: in which order tensors are
/// named is a part of the kernel (plain_pairs.cpp launches the same ones).
template <typename Operation>
Value after(Arguments& a, Value second, Operation operation) {
  return operation(a.value(0), second);
}

Value divide(Arguments& a) { return after(a, a.value(1), std::divides<>()); }

Value power(Arguments& a) {
  if (!a.is_float()) throw Refusal{"the chip has no power of integers"};
  return a.expression().alu(AluOp::kPower, a.value(0), a.value(1));
}

Value reversed_difference(Arguments& a) {
  if (a.dtype(0) == at::kBool || a.dtype(1) == at::kBool) throw Refusal{"bools are not subtracted"};
  return a.value(1) - scaled(a, a.value(0), 2);
}

/// The second argument of addcdiv; the CPU refuses to divide integers there.
Value numerator(Arguments& a) {
  if (c10::isIntegralType(a.dtype(1), true) && c10::isIntegralType(a.dtype(2), true)) {
    throw Refusal{"torch does not divide integers by integers in it"};
  }
  return a.value(1);
}

constexpr PointwiseRow kArithmeticRows[] = {
    {"add.out", kCommon, kComputed,
     [](Arguments& a) { return after(a, scaled(a, a.value(1), 2), std::plus<>()); }, 0b11},
    {"sub.out", kCommon, kComputed,
     [](Arguments& a) { return after(a, scaled(a, a.value(1), 2), std::minus<>()); }, 0b11},
    {"rsub.Tensor rsub.Scalar", kCommon, kComputed, reversed_difference, 0b11, Accepts::kAny,
     Numbers::kCast},
    {"mul.out", kCommon, kComputed,
     [](Arguments& a) { return after(a, a.value(1), std::multiplies<>()); }, 0b11},
    {"div.out", kFloat, kComputed, divide, 0b11},
    {"maximum.out", kCommon, kComputed,
     [](Arguments& a) { return maximum(a.value(0), a.value(1)); }, 0b11, Accepts::kAny,
     Numbers::kCast},
    {"minimum.out", kCommon, kComputed,
     [](Arguments& a) { return minimum(a.value(0), a.value(1)); }, 0b11, Accepts::kAny,
     Numbers::kCast},
    {"neg.out", kCommon, kComputed, [](Arguments& a) { return -a.value(0); }, 0b1},
    {"reciprocal.out", kFloat, kComputed, [](Arguments& a) { return 1.0 / a.value(0); }, 0b1},
    {"pow.Tensor_Scalar_out", kCommon, kComputed, power, 0b11, Accepts::kAny, Numbers::kChecked},
    {"pow.Tensor_Tensor_out pow.Scalar_out", kCommon, kComputed, power, 0b11, Accepts::kAny,
     Numbers::kCast},
    {"addcmul.out", kCommon, kComputed,
     [](Arguments& a) { return a.value(0) + scaled(a, a.value(1), 3) * a.value(2); }, 0b111,
     Accepts::kNumbers},
    {"addcdiv.out", kCommon, kComputed,
     [](Arguments& a) { return a.value(0) + scaled(a, numerator(a), 3) / a.value(2); }, 0b111},
    {"lerp.Scalar_out", kCommon, kComputed,
     [](Arguments& a) {
       const Value start = a.value(0), end = a.value(1);
       const double weight = a.number(2);
       return weight < 0.5 ? start + (end - start) * weight : end - (end - start) * (1 - weight);
     },
     0b11},
    {"lerp.Tensor_out", kCommon, kComputed,
     [](Arguments& a) {
       const Value start = a.value(0), end = a.value(1), weight = a.value(2);
       const Value span = end - start;
       return select(compare(AluOp::kLess, weight, 0.5), start + span * weight,
                     end - span * (1.0 - weight));
     },
     0b111},
};

}  // namespace

std::span<const PointwiseRow> arithmetic_rows() { return kArithmeticRows; }

}  // namespace neuron_sim
