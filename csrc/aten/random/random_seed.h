#pragma once
// Kernels that draw random numbers, and the seed of one.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>

#include "ops/contract/kernel_definition.h"
#include "ops/pointwise/pointwise.h"

namespace neuron_sim {

inline constexpr KernelDefinition<Expression> kRandomPointwise{.name = "random",
                                                               .emit = emit_random_pointwise};

/// [1] int32 on the device of `like`: 32 bits of generator_or_default(given), so that
/// torch.manual_seed decides the kernel's numbers. Every run of a captured graph draws a new one.
at::Tensor next_seed(const at::Tensor& like, const std::optional<at::Generator>& given = {});

}  // namespace neuron_sim
