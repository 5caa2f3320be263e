// nn.LSTM, nn.GRU and nn.RNN over whole sequences. torch multiplies the input of each step apart on
// devices other than the CPU; here the inputs of all steps are one product, and a step is the
// product of its hidden state and one element-wise kernel. Differentiable as composed; without
// gradients states are written where the output has them.

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_thnn_fused_gru_cell.h>
#include <ATen/ops/_thnn_fused_lstm_cell.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/products/recurrent.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using at::TensorList;

enum class Cell { kLstm, kGru, kTanh, kRelu };

/// The state of a cell; `cell` is that of an LSTM alone.
struct State {
  Tensor hidden, cell;
};

/// The parameters of a layer in one direction; absent ones are undefined.
struct Layer {
  Tensor input_weight, hidden_weight, input_bias, hidden_bias, projection;
};

/// What torch's operators say of a network.
struct Network {
  Cell cell;
  bool has_biases, train, bidirectional;
  int64_t layers;
  double dropout;
  int64_t directions() const { return bidirectional ? 2 : 1; }
};

std::vector<Layer> layers_of(const Network& network, TensorList parameters, bool is_projected) {
  const size_t size = 2 + (network.has_biases ? 2 : 0) + (is_projected ? 1 : 0);
  const auto count = static_cast<size_t>(network.layers * network.directions());
  TORCH_CHECK(parameters.size() == size * count, "a recurrent network of ", count,
              " layers and directions has ", size, " parameters of each, but got ",
              parameters.size());
  std::vector<Layer> layers;
  for (size_t first = 0; first < parameters.size(); first += size) {
    Layer layer{parameters[first], parameters[first + 1], {}, {}, {}};
    if (network.has_biases) {
      layer.input_bias = parameters[first + 2];
      layer.hidden_bias = parameters[first + 3];
    }
    if (is_projected) layer.projection = parameters[first + size - 1];
    layers.push_back(layer);
  }
  return layers;
}

Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return at::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
}

/// The next state, of operators with gradients.
State step(Cell cell, const Tensor& input_gates, const Tensor& hidden_gates, const State& state) {
  if (cell == Cell::kLstm) {
    auto [hidden, of_cell, workspace] =
        at::_thnn_fused_lstm_cell(input_gates, hidden_gates, state.cell);
    return {hidden, of_cell};
  }
  if (cell == Cell::kGru) {
    return {std::get<0>(at::_thnn_fused_gru_cell(input_gates, hidden_gates, state.hidden)), {}};
  }
  const Tensor sum = input_gates + hidden_gates;
  return {cell == Cell::kTanh ? at::tanh(sum) : at::relu(sum), {}};
}

/// The next state, its hidden part written into `target`.
State step_into(Cell cell, const Tensor& input_gates, const Tensor& hidden_gates,
                const State& state, const Tensor& target) {
  if (cell == Cell::kLstm) {
    const Tensor of_cell = at::empty_like(state.cell, at::MemoryFormat::Contiguous);
    lstm_step(input_gates, hidden_gates, state.cell, target, of_cell);
    return {target, of_cell};
  }
  gru_step(input_gates, hidden_gates, state.hidden, target);
  return {target, {}};
}

bool has_gradients(const Tensor& input, const State& state, const Layer& layer) {
  const auto requires_grad = [](const Tensor& each) {
    return each.defined() && each.requires_grad();
  };
  return at::GradMode::is_enabled() &&
         (requires_grad(input) || requires_grad(state.hidden) || requires_grad(state.cell) ||
          requires_grad(layer.input_weight) || requires_grad(layer.hidden_weight) ||
          requires_grad(layer.input_bias) || requires_grad(layer.hidden_bias));
}

/// Whether steps may write into an output: one dtype, no gradients, one kernel per step.
bool writes_in_place(Cell cell, const Tensor& input, const State& state, const Layer& layer) {
  const bool has_kernel = cell == Cell::kLstm || cell == Cell::kGru;
  return has_kernel && !layer.projection.defined() && !has_gradients(input, state, layer) &&
         !at::autocast::is_autocast_enabled(at::kPrivateUse1) &&
         input.scalar_type() == layer.hidden_weight.scalar_type() &&
         input.scalar_type() == state.hidden.scalar_type() && is_computable(input.scalar_type());
}

/// One layer in one direction over `input` [T, N, I]: the output [T, N, H], and `state` as it is
/// after the last step.
Tensor run_layer(Cell cell, const Tensor& input, const Layer& layer, bool backwards, State& state) {
  const int64_t length = input.size(0);
  const Tensor gates = product(input, layer.input_weight, layer.input_bias);
  const bool in_place = writes_in_place(cell, input, state, layer);
  const Tensor output =
      in_place ? input.new_empty({length, input.size(1), state.hidden.size(-1)}) : Tensor();
  std::vector<Tensor> outputs(in_place ? 0 : static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t time = backwards ? length - 1 - i : i;
    const Tensor hidden_gates = product(state.hidden, layer.hidden_weight, layer.hidden_bias);
    if (in_place) {
      state = step_into(cell, gates.select(0, time), hidden_gates, state, output.select(0, time));
      continue;
    }
    state = step(cell, gates.select(0, time), hidden_gates, state);
    if (layer.projection.defined()) state.hidden = product(state.hidden, layer.projection, {});
    outputs[static_cast<size_t>(time)] = state.hidden;
  }
  return in_place ? output : at::stack(outputs);
}

/// All layers over `input`; `states` of each layer and direction become those after the last step.
Tensor run_network(const Network& network, Tensor input, TensorList parameters, bool is_projected,
                   std::vector<State>& states) {
  const std::vector<Layer> layers = layers_of(network, parameters, is_projected);
  TORCH_CHECK(input.dim() == 3, "input must have 3 dimensions, got ", input.dim());
  for (const State& state : states) {
    for (const Tensor& part : {state.hidden, state.cell}) {
      if (!part.defined()) continue;
      TORCH_CHECK(part.size(0) == input.size(1), "Expected a hidden state of ", input.size(1),
                  " sequences, got ", part.size(0));
      TORCH_CHECK(part.device() == input.device(),
                  "Input and hidden tensors are not at the same device, found input tensor at ",
                  input.device(), " and hidden tensor at ", part.device());
    }
  }
  TORCH_CHECK(input.size(0) > 0, "Expected sequence length to be larger than 0 in RNN");
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < network.directions(); ++direction) {
      const auto index = static_cast<size_t>(layer * network.directions() + direction);
      outputs.push_back(
          run_layer(network.cell, input, layers[index], direction == 1, states[index]));
    }
    input = outputs.size() == 1 ? outputs[0] : at::cat(outputs, -1);
    const bool is_last = layer + 1 == network.layers;
    if (network.train && network.dropout > 0 && !is_last) {
      input = at::dropout(input, network.dropout, /*train=*/true);
    }
  }
  return input;
}

std::vector<State> states_of(const Network& network, const Tensor& hidden, const Tensor& cell) {
  const int64_t count = network.layers * network.directions();
  for (const Tensor& state : {hidden, cell}) {
    TORCH_CHECK(!state.defined() || (state.dim() == 3 && state.size(0) == count),
                "Expected a hidden state of ", count, " layers and directions, got ",
                state.sizes());
  }
  std::vector<State> states;
  for (int64_t i = 0; i < count; ++i) {
    states.push_back({hidden.select(0, i), cell.defined() ? cell.select(0, i) : Tensor()});
  }
  return states;
}

Tensor stacked(const std::vector<State>& states, Tensor State::*part) {
  std::vector<Tensor> tensors;
  for (const State& state : states) tensors.push_back(state.*part);
  return at::stack(tensors);
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList states,
                                        TensorList parameters, bool has_biases, int64_t layers,
                                        double dropout, bool train, bool bidirectional,
                                        bool batch_first) {
  TORCH_CHECK(states.size() == 2, "lstm expects two hidden states");
  const Network network{Cell::kLstm, has_biases, train, bidirectional, layers, dropout};
  std::vector<State> after = states_of(network, states[0], states[1]);
  const bool is_projected = states[0].size(2) != states[1].size(2);
  Tensor output = run_network(network, batch_first ? input.transpose(0, 1) : input, parameters,
                              is_projected, after);
  if (batch_first) output = output.transpose(0, 1);
  return {output, stacked(after, &State::hidden), stacked(after, &State::cell)};
}

template <Cell cell>
std::tuple<Tensor, Tensor> of_hidden_state(const Tensor& input, const Tensor& state,
                                           TensorList parameters, bool has_biases, int64_t layers,
                                           double dropout, bool train, bool bidirectional,
                                           bool batch_first) {
  const Network network{cell, has_biases, train, bidirectional, layers, dropout};
  std::vector<State> after = states_of(network, state, {});
  Tensor output = run_network(network, batch_first ? input.transpose(0, 1) : input, parameters,
                              /*is_projected=*/false, after);
  if (batch_first) output = output.transpose(0, 1);
  return {output, stacked(after, &State::hidden)};
}

void implement(torch::Library& library) {
  library.impl("lstm.input", lstm);
  library.impl("gru.input", of_hidden_state<Cell::kGru>);
  library.impl("rnn_tanh.input", of_hidden_state<Cell::kTanh>);
  library.impl("rnn_relu.input", of_hidden_state<Cell::kRelu>);
}

}  // namespace

// Compositions: below autograd they are the same.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { implement(m); }
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { implement(m); }

}  // namespace neuron_sim
