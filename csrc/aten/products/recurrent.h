#pragma once
// One step of recurrent cells without gradients: one kernel, as the fused cells are. The chip
// computes in the dtype of all tensors, which is one, and they are on one device.

#include <ATen/core/Tensor.h>

namespace neuron_sim {

/// hy, cy [N, H] = the states after one step of an LSTM from the cell's state cx; gates [N, 4 * H]
/// in the order input, forget, cell, output, biases included.
void lstm_step(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
               const at::Tensor& hy, const at::Tensor& cy);

/// hy [N, H] = the state after one step of a GRU from hx; gates [N, 3 * H] in the order reset,
/// update, new, biases included.
void gru_step(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& hx,
              const at::Tensor& hy);

}  // namespace neuron_sim
