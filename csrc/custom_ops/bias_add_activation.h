#pragma once
// Gradients of bias_add_activation, of which those of other ops are made.

#include <ATen/core/Tensor.h>

#include <string_view>
#include <tuple>

namespace neuron_sim {

/// Gradients of x and bias; bias_add_activation_backward.
std::tuple<at::Tensor, at::Tensor> bias_add_activation_gradients(const at::Tensor& gradient,
                                                                 const at::Tensor& x,
                                                                 const at::Tensor& bias,
                                                                 std::string_view activation);

}  // namespace neuron_sim
