#pragma once
// The seed of one kernel that draws random numbers.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace neuron_sim {

/// [1] int32 on the device of `like`: 32 bits of generator_or_default(given), so that
/// torch.manual_seed decides the kernel's numbers. Every run of a captured graph draws a new one.
at::Tensor next_seed(const at::Tensor& like, const std::optional<at::Generator>& given = {});

}  // namespace neuron_sim
