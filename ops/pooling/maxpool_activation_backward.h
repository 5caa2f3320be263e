#pragma once
// Backward of max pooling after an activation: from the gradient of max_pool2d(activation(sums)) to
// the gradient of sums.
//
// Algorithm. Planes (image, channel) lie on partitions, small ones side by side; bands of rows in
// the free dimension. The elements of all windows are compared in row-major order by strided views,
// one element of every window at a time, and the number of the last one above all earlier ones (or
// is NaN) is kept: the first maximum, as in torch. Gradients are copied there bit by bit under a
// mask; windows that overlap add up in fp32. Where the activation is monotone, the sums themselves
// are compared and the derivative is applied to the maxima alone; else values and derivatives are
// computed for all sums. The result is rounded once. Bands that share windows both compare them.
//
// Tile plan (maxpool_activation_plan.h): up to 4096 sums and 1024 windows per partition, in rings
// of two; maxima and masks in PSUM, where Vector reads them at twice the rate.
//
// Roofline: Vector, some four cycles for each element of a window and two for each gradient that is
// distributed.

#include <array>

#include "device/numerics/activation_functions.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct MaxpoolActivationOptions {
  std::array<int64_t, 2> pool_kernel{1, 1}, pool_stride{1, 1};  ///< height, width
  Activation activation = Activation::kIdentity;
  static constexpr std::array kFields{"pool_size", "pool_stride|pool_size", "activation"};
};

/// gradient [N, C, PH, PW] (fp32, fp16 or bf16, any strides), sums [N, C, H, W] (fp32 or the dtype
/// of gradient, any strides); the output [N, C, H, W] is dense, of the dtype of gradient. PH is
/// (H - kernel) / stride + 1, rounded down. Arguments of the program: gradient, sums, result. An
/// empty output has no program. KernelError for other ranks, sizes and dtypes, and for rows that do
/// not fit SBUF.
extern const KernelDefinition<MaxpoolActivationOptions> kMaxpoolActivationBackward;

}  // namespace neuron_sim
