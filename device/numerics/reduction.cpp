#include "device/numerics/reduction.h"

#include <limits>

#include "device/base/errors.h"
#include "device/numerics/alu.h"

namespace neuron_sim {

float reduction_identity(AluOp op) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (op) {
    case AluOp::kAdd:
    case AluOp::kSubtract: return 0;
    case AluOp::kMultiply: return 1;
    case AluOp::kMaximum: return -kInfinity;
    case AluOp::kMinimum: return kInfinity;
    default: require(false, "the operator has no value that a reduction starts from");
  }
  return 0;
}

float reduce(AluOp op, const float* values, int64_t count) {
  if (op == AluOp::kSubtract) return reduction::subtract_in_order(values[0], values + 1, count - 1);
  float result = 0;
  alu::with_float_operator(
      op, [&](auto function) { result = reduction::reduce(values, count, function); });
  if (op == AluOp::kAdd) result += 0.0F;
  return result;
}

}  // namespace neuron_sim
