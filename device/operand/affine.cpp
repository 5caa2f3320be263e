#include "device/operand/affine.h"

#include "device/base/errors.h"

namespace neuron_sim {

Affine Affine::variable(int level) {
  require(level >= 0 && level < kMaximumLoopDepth, "loop level out of range");
  Affine result;
  result.coefficients_[static_cast<size_t>(level)] = 1;
  result.levels_ = level + 1;
  return result;
}

Affine Affine::operator+(const Affine& other) const {
  Affine result;
  result.constant_ = constant_ + other.constant_;
  for (int level = 0; level < kMaximumLoopDepth; ++level) {
    const int64_t sum = coefficient(level) + other.coefficient(level);
    result.coefficients_[static_cast<size_t>(level)] = sum;
    if (sum != 0) result.levels_ = level + 1;
  }
  return result;
}

Affine Affine::operator*(int64_t factor) const {
  Affine result;
  result.constant_ = constant_ * factor;
  for (int level = 0; level < kMaximumLoopDepth && factor != 0; ++level) {
    result.coefficients_[static_cast<size_t>(level)] = coefficient(level) * factor;
  }
  result.levels_ = factor == 0 ? 0 : levels_;
  return result;
}

int64_t Affine::at(const int64_t* variables) const {
  int64_t value = constant_;
  for (int level = 0; level < levels_; ++level) value += coefficient(level) * variables[level];
  return value;
}

}  // namespace neuron_sim
