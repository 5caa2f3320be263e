#pragma once
// The activations as compositions of PyTorch operators, on any device.

#include <ATen/core/Tensor.h>

#include <string_view>

namespace neuron_sim {

/// activation(x) by name; softmax is over the last dimension.
at::Tensor apply_activation(const at::Tensor& x, std::string_view activation);

/// The gradient of x, given the gradient of y = apply_activation(x).
at::Tensor activation_gradient(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& y,
                               std::string_view activation);

}  // namespace neuron_sim
