// nn.LSTM and nn.GRU on a PrivateUse1 device pick "fused" cells that have no CPU kernel. Here they
// are composed of operators that run on the device (or fall back, and are counted, one by one).

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/chunk.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <vector>

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

bool given(const OptionalTensor& tensor) { return tensor && tensor->defined(); }

Tensor with_bias(const Tensor& gates, const OptionalTensor& bias) {
  return given(bias) ? gates + *bias : gates;
}

/// (1 - y) * y, the derivative of a sigmoid by its output.
Tensor sigmoid_slope(const Tensor& y) { return at::rsub(y, 1) * y; }
/// 1 - y * y, the derivative of tanh by its output.
Tensor tanh_slope(const Tensor& y) { return at::rsub(y * y, 1); }

/// Gates in the order input, forget, cell, output; the workspace keeps them activated.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const OptionalTensor& input_bias,
                                             const OptionalTensor& hidden_bias) {
  const Tensor gates = with_bias(with_bias(input_gates + hidden_gates, input_bias), hidden_bias);
  const std::vector<Tensor> parts = at::chunk(gates, 4, 1);
  const Tensor input = at::sigmoid(parts[0]), forget = at::sigmoid(parts[1]);
  const Tensor cell = at::tanh(parts[2]), output = at::sigmoid(parts[3]);
  const Tensor cy = forget * cx + input * cell;
  return {output * at::tanh(cy), cy, at::cat({input, forget, cell, output}, 1)};
}

/// Gradients of the gates, of cx and, with `has_bias`, of either bias.
std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& grad_hy,
                                                      const OptionalTensor& grad_cy,
                                                      const Tensor& cx, const Tensor& cy,
                                                      const Tensor& workspace, bool has_bias) {
  if (!given(grad_hy) && !given(grad_cy)) return {};
  const std::vector<Tensor> parts = at::chunk(workspace, 4, 1);
  const Tensor &input = parts[0], &forget = parts[1], &cell = parts[2], &output = parts[3];
  const Tensor tanh_cy = at::tanh(cy);
  Tensor grad_c = given(grad_cy) ? *grad_cy : at::zeros_like(cy);
  Tensor grad_output = at::zeros_like(output);
  if (given(grad_hy)) {
    grad_c = grad_c + *grad_hy * output * tanh_slope(tanh_cy);
    grad_output = *grad_hy * tanh_cy * sigmoid_slope(output);
  }
  const Tensor grad_gates =
      at::cat({grad_c * cell * sigmoid_slope(input), grad_c * cx * sigmoid_slope(forget),
               grad_c * input * tanh_slope(cell), grad_output},
              1);
  return {grad_gates, grad_c * forget, has_bias ? grad_gates.sum(0) : Tensor()};
}

/// Gates in the order reset, update, new. The workspace keeps reset, update, new, hx and the hidden
/// part of the new gate, as the CUDA kernel does.
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                    const Tensor& hx, const OptionalTensor& input_bias,
                                    const OptionalTensor& hidden_bias) {
  const std::vector<Tensor> in = at::chunk(with_bias(input_gates, input_bias), 3, 1);
  const std::vector<Tensor> hidden = at::chunk(with_bias(hidden_gates, hidden_bias), 3, 1);
  const Tensor reset = at::sigmoid(in[0] + hidden[0]);
  const Tensor update = at::sigmoid(in[1] + hidden[1]);
  const Tensor fresh = at::tanh(in[2] + reset * hidden[2]);
  const Tensor hy = fresh + update * (hx - fresh);
  return {hy, at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  const std::vector<Tensor> parts = at::chunk(workspace, 5, 1);
  const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2];
  const Tensor &hx = parts[3], &hidden_new = parts[4];
  const Tensor grad_update = grad_hy * (hx - fresh) * sigmoid_slope(update);
  const Tensor grad_new = grad_hy * at::rsub(update, 1) * tanh_slope(fresh);
  const Tensor grad_reset = grad_new * hidden_new * sigmoid_slope(reset);
  const Tensor grad_input = at::cat({grad_reset, grad_update, grad_new}, 1);
  const Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_new * reset}, 1);
  return {grad_input, grad_hidden, grad_hy * update, has_bias ? grad_input.sum(0) : Tensor(),
          has_bias ? grad_hidden.sum(0) : Tensor()};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

}  // namespace neuron_sim
