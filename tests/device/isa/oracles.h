#pragma once
// What instruction tests compare with: an architecture made by hand, rounding in double precision.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "device/arch/architecture.h"
#include "device/numerics/dtype.h"
#include "device/operand/view.h"

namespace neuron_sim {

using enum MemoryKind;
inline constexpr Dtype kFp32 = Dtype::kFloat32, kBf16 = Dtype::kBfloat16;

/// The limits and features of trn2 that instructions look at (arch.json); tests may change a copy.
inline Architecture test_architecture() {
  Architecture architecture;
  architecture.name = "trn2";
  architecture.neuron_core = "NeuronCore-v3";
  architecture.generation = 3;
  Limits& limits = architecture.limits;
  limits.partitions = 128;
  limits.stationary_free = 128;
  limits.moving_free = 512;
  limits.psum_banks = 8;
  limits.psum_bank = {2048};
  limits.sbuf_partition = {192 * 1024};
  limits.sbuf_usable = {192 * 1024};
  limits.vector_sbuf_elements = 65536;
  limits.vector_psum_elements = 4096;
  limits.free_dimensions = 4;
  limits.registers = 64;
  limits.max8_minimum_elements = 8;
  limits.max8_maximum_elements = 16384;
  limits.vector_transpose = 32;
  limits.bn_stats_elements = 512;
  limits.gpsimd_core_partitions = 16;
  limits.local_gather_indices = 4096;
  limits.topk_minimum_elements = 8;
  limits.topk_maximum_elements = 65535;
  limits.topk_results = 32767;
  limits.logical_cores = 2;
  limits.gpsimd_dma_elements = 256;
  limits.array_tile = 32;
  limits.moving_free_mx = 512;
  Features& features = architecture.features;
  features.exact_transpose = true;
  features.scalar_constant_bias = false;
  features.hardware_descriptors = true;
  features.scalar_tensor_ops = true;
  features.clock_gating = true;
  features.hidden_weight_load = true;
  features.dma_transpose = true;
  features.reciprocal_bias = true;
  features.double_row = true;
  return architecture;
}

/// `value` rounded to nearest even to a float format, computed in double, without device code.
/// Overflow gives infinity. Integers and bool: round to nearest even and saturate, NaN gives 0.
inline double round_to(Dtype dtype, double value) {
  struct Format {
    int mantissa, minimum_exponent;
    double largest;
  };
  auto to_float = [&](Format format) {
    if (std::isnan(value) || std::isinf(value) || value == 0) return value;
    int exponent = std::max(std::ilogb(value), format.minimum_exponent);
    double quantum = std::ldexp(1.0, exponent - format.mantissa);
    double rounded = std::copysign(std::nearbyint(value / quantum) * quantum, value);
    if (std::abs(rounded) > format.largest) return std::copysign(INFINITY, value);
    return rounded;
  };
  auto to_integer = [&](double low, double high) {
    if (std::isnan(value)) return 0.0;
    return std::min(std::max(std::nearbyint(value), low), high) + 0.0;
  };
  switch (dtype) {
    case Dtype::kBool: return value == 0 ? 0 : 1;
    case Dtype::kInt8: return to_integer(-128, 127);
    case Dtype::kInt16: return to_integer(-32768, 32767);
    case Dtype::kInt32: return to_integer(-2147483648.0, 2147483647.0);
    case Dtype::kUint8: return to_integer(0, 255);
    case Dtype::kUint16: return to_integer(0, 65535);
    case Dtype::kUint32: return to_integer(0, 4294967295.0);
    case Dtype::kFloat8E4m3: return to_float({3, -6, 240});
    case Dtype::kFloat8E5m2: return to_float({2, -14, 57344});
    case Dtype::kFloat16: return to_float({10, -14, 65504});
    case Dtype::kBfloat16: return to_float({7, -126, 0x1.fep127});
    case Dtype::kTfloat32: return to_float({10, -126, 0x1.ffcp127});
    case kFp32: return to_float({23, -126, 0x1.fffffep127});
    case Dtype::kFloat8E4m3fn: {
      const double rounded = to_float({3, -6, 448});
      return std::isinf(rounded) ? NAN : rounded;  // it has no infinity
    }
    case Dtype::kFloat8E8m0fnu:
    case Dtype::kFloat8E5m2X4:
    case Dtype::kFloat8E4m3fnX4:
    case Dtype::kFloat4E2m1fnX4: break;  // nothing computes with them
  }
  return value;
}

/// `count` reproducible values in [low, high].
inline std::vector<double> random_values(int64_t count, double low = -4, double high = 4,
                                         unsigned seed = 1) {
  std::mt19937_64 generator(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    values.push_back(low + (high - low) * unit);
  }
  return values;
}

/// Equal element by element; NaN equals NaN, and zeros must have the same sign.
inline void expect_values(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    bool same = std::isnan(expected[i]) ? std::isnan(actual[i])
                                        : actual[i] == expected[i] &&
                                              std::signbit(actual[i]) == std::signbit(expected[i]);
    ASSERT_TRUE(same) << "element " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

}  // namespace neuron_sim
