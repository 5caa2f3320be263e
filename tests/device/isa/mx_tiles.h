#pragma once
// MX operands for tests: an architecture that has them, their values in double.

#include <cmath>
#include <vector>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {

inline Architecture mx_architecture() {
  Architecture architecture = test_architecture();
  architecture.name = "trn3";
  architecture.neuron_core = "NeuronCore-v4";
  architecture.generation = 4;
  architecture.limits.moving_free = 4096;
  architecture.features.bfloat16_psum = true;
  architecture.features.microscaling = true;
  return architecture;
}

/// One value of a packed element by the definition of its format, in double arithmetic.
inline double packed_value(Dtype dtype, uint32_t element, int place) {
  const auto decode = [](uint32_t bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const double fraction = std::ldexp(bits & ((1u << mantissa_bits) - 1), -mantissa_bits);
    const double size =
        exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return bits >> (exponent_bits + mantissa_bits) & 1u ? -size : size;
  };
  if (dtype == Dtype::kFloat4E2m1fnX4) return decode(element >> (4 * place) & 15u, 2, 1);
  const uint32_t bits = element >> (8 * place) & 255u;
  if (dtype == Dtype::kFloat8E4m3fnX4) return (bits & 127u) == 127u ? NAN : decode(bits, 4, 3);
  if ((bits & 127u) > 0x7cu) return NAN;
  if ((bits & 127u) == 0x7cu) return bits & 128u ? -HUGE_VAL : HUGE_VAL;
  return decode(bits, 5, 2);
}

/// Row-major values, the four of an element one after the other.
inline std::vector<double> packed_values(InstructionBench& bench, const View& view) {
  std::vector<double> values;
  for (const uint32_t element : bench.bits(view)) {
    for (int j = 0; j < 4; ++j) values.push_back(packed_value(view.dtype(), element, j));
  }
  return values;
}

}  // namespace neuron_sim
