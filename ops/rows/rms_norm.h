#pragma once
// rms_norm: out = x / sqrt(mean(x^2) + eps) * weight, the mean over the last dimension.
//
// Algorithm and tile plan: a row program of one stage (ops/rows/row_program.h), the sum of the
// squares of a row, whose reciprocal root scales the row and the weight.
//
// Roofline: DMA, 2 * elements * itemsize bytes; where SBUF cannot hold a row, x is read twice.

#include <array>
#include <cstdint>

#include "ops/contract/kernel_definition.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {

struct RmsNormOptions {
  double eps = 1e-6;
  static constexpr std::array kFields{"eps"};
};

/// The stage of a row program that computes 1 / sqrt(mean(x^2) + eps) of input 0, whose rows have
/// `count` elements.
RowStage inverse_root_mean_square(int64_t count, double eps);

/// x [..., F] of any leading dimensions and strides, weight [F] of the same dtype (fp32, fp16,
/// bf16); the output is dense, computed in fp32 and rounded once. KernelError for other ranks,
/// sizes and dtypes.
extern const KernelDefinition<RmsNormOptions> kRmsNorm;

}  // namespace neuron_sim
