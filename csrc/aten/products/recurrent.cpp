// nn.LSTM and nn.GRU on a PrivateUse1 device pick "fused" cells that have no CPU kernel. Here each
// is one element-wise kernel; where the chip lacks the dtype, the same formula of operators, which
// fall back and are counted one by one.

#include "csrc/aten/products/recurrent.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/kernel_call.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
template <typename Value>
using Values = std::vector<Value>;

bool given(const OptionalTensor& tensor) { return tensor && tensor->defined(); }

Tensor sigmoid_of(const Tensor& x) { return at::sigmoid(x); }
Tensor tanh_of(const Tensor& x) { return at::tanh(x); }
Tensor one_minus(const Tensor& x) { return at::rsub(x, 1); }
ElementValue sigmoid_of(ElementValue x) { return call(Activation::kSigmoid, x); }
ElementValue tanh_of(ElementValue x) { return call(Activation::kTanh, x); }
ElementValue one_minus(ElementValue x) { return 1.0 - x; }

/// The derivative of a sigmoid by its output y.
template <typename Value>
Value sigmoid_slope(const Value& y) {
  return one_minus(y) * y;
}
/// The derivative of tanh by its output y.
template <typename Value>
Value tanh_slope(const Value& y) {
  return one_minus(y * y);
}

/// The expression of a functor on vectors of values.
template <typename Formula>
Expression expression_of(Formula formula, size_t operands) {
  Expression expression;
  Values<ElementValue> inputs;
  for (size_t i = 0; i < operands; ++i) inputs.push_back(expression.input(static_cast<int>(i)));
  for (const ElementValue& value : formula(inputs)) expression.add_result(value);
  return expression;
}

/// results = formula(operands), a functor on vectors of values. Operands are expanded.
template <typename Formula>
void evaluate(Formula formula, const Values<Tensor>& operands, const Values<Tensor>& results) {
  const c10::DeviceGuard guard(results.front().device());
  const auto is_on_chip = [](const Tensor& each) { return is_computable(each.scalar_type()); };
  if (!std::all_of(operands.begin(), operands.end(), is_on_chip)) {
    const Values<Tensor> values = formula(operands);
    for (size_t i = 0; i < results.size(); ++i) results[i].copy_(values[i]);
    return;
  }
  run_pointwise(expression_of(formula, operands.size()), operands, results);
}

/// The gates of a cell before their activations: per gate its chunk of each tensor that is given.
Values<Tensor> chunks_of_gates(std::initializer_list<OptionalTensor> tensors, int64_t count) {
  Values<Tensor> chunks;
  for (int64_t gate = 0; gate < count; ++gate) {
    for (const OptionalTensor& tensor : tensors) {
      if (!given(tensor)) continue;
      const int64_t size = tensor->size(-1) / count;
      chunks.push_back(tensor->narrow(-1, gate * size, size));
    }
  }
  return chunks;
}

/// The sum of `count` values from `first` on.
template <typename Value>
Value sum_of(const Values<Value>& values, size_t first, size_t count) {
  Value sum = values[first];
  for (size_t i = 1; i < count; ++i) sum = sum + values[first + i];
  return sum;
}

/// The activated gates of an LSTM (input, forget, cell, output), the hidden state and the cell's,
/// of `terms` summands of each gate and the cell's state before.
template <typename Value>
Values<Value> lstm_values(const Values<Value>& values, size_t terms) {
  const auto input = sigmoid_of(sum_of(values, 0, terms));
  const auto forget = sigmoid_of(sum_of(values, terms, terms));
  const auto cell = tanh_of(sum_of(values, 2 * terms, terms));
  const auto output = sigmoid_of(sum_of(values, 3 * terms, terms));
  const auto cy = forget * values.back() + input * cell;
  return {input, forget, cell, output, output * tanh_of(cy), cy};
}

/// The activated gates of a GRU (reset, update, new), the state before, the hidden part of the new
/// gate, and the state, of so many summands of each gate and the state before.
template <typename Value>
Values<Value> gru_values(const Values<Value>& values, size_t inputs, size_t hiddens) {
  const auto in = [&](size_t gate) { return sum_of(values, gate * inputs, inputs); };
  const auto hidden = [&](size_t gate) {
    return sum_of(values, 3 * inputs + gate * hiddens, hiddens);
  };
  const auto reset = sigmoid_of(in(0) + hidden(0)), update = sigmoid_of(in(1) + hidden(1));
  const auto hidden_new = hidden(2);
  const auto fresh = tanh_of(in(2) + reset * hidden_new);
  const auto& hx = values.back();
  return {reset, update, fresh, hx, hidden_new, fresh + update * (hx - fresh)};
}

/// Gates in the order input, forget, cell, output; the workspace keeps them activated.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const OptionalTensor& input_bias,
                                             const OptionalTensor& hidden_bias) {
  Values<Tensor> operands =
      chunks_of_gates({input_gates, hidden_gates, input_bias, hidden_bias}, 4);
  const size_t terms = operands.size() / 4;
  operands.push_back(cx);
  const Tensor workspace = at::empty_like(input_gates, at::MemoryFormat::Contiguous);
  Values<Tensor> results = workspace.chunk(4, 1);
  results.push_back(at::empty_like(cx, at::MemoryFormat::Contiguous));
  results.push_back(at::empty_like(cx, at::MemoryFormat::Contiguous));
  const auto formula = [terms](const auto& values) { return lstm_values(values, terms); };
  evaluate(formula, operands, results);
  return {results[4], results[5], workspace};
}

/// Gradients of the gates, of cx and, with `has_bias`, of either bias.
std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& grad_hy,
                                                      const OptionalTensor& grad_cy,
                                                      const Tensor& cx, const Tensor& cy,
                                                      const Tensor& workspace, bool has_bias) {
  const bool of_hidden = given(grad_hy), of_cell = given(grad_cy);
  if (!of_hidden && !of_cell) return {};
  Values<Tensor> operands = workspace.chunk(4, 1);
  operands.insert(operands.end(), {cx, cy, of_hidden ? *grad_hy : *grad_cy});
  if (of_hidden && of_cell) operands.push_back(*grad_cy);
  const Tensor grad_gates = at::empty_like(workspace, at::MemoryFormat::Contiguous);
  const Tensor grad_cx = at::empty_like(cx, at::MemoryFormat::Contiguous);
  Values<Tensor> results = grad_gates.chunk(4, 1);
  results.insert(results.begin() + 3, grad_cx);
  if (!of_hidden) {
    results.back().zero_();
    results.pop_back();
  }
  const auto formula = [of_hidden, of_cell](const auto& v) {
    const auto &input = v[0], &forget = v[1], &cell = v[2], &output = v[3], &grad = v[6];
    const auto tanh_cy = tanh_of(v[5]);
    auto grad_c = of_hidden ? grad * output * tanh_slope(tanh_cy) : grad;
    if (of_hidden && of_cell) grad_c = v[7] + grad_c;
    std::vector grads{grad_c * cell * sigmoid_slope(input), grad_c * v[4] * sigmoid_slope(forget),
                      grad_c * input * tanh_slope(cell), grad_c * forget};
    if (of_hidden) grads.push_back(grad * tanh_cy * sigmoid_slope(output));
    return grads;
  };
  evaluate(formula, operands, results);
  return {grad_gates, grad_cx, has_bias ? grad_gates.sum(0) : Tensor()};
}

/// Gates in the order reset, update, new. The workspace keeps reset, update, new, hx and the hidden
/// part of the new gate, as the CUDA kernel does.
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                    const Tensor& hx, const OptionalTensor& input_bias,
                                    const OptionalTensor& hidden_bias) {
  Values<Tensor> operands = chunks_of_gates({input_gates, input_bias}, 3);
  const Values<Tensor> chunks = chunks_of_gates({hidden_gates, hidden_bias}, 3);
  const size_t inputs = operands.size() / 3, hiddens = chunks.size() / 3;
  operands.insert(operands.end(), chunks.begin(), chunks.end());
  operands.push_back(hx);
  const Tensor workspace = hx.new_empty({hx.size(0), 5 * hx.size(1)});
  Values<Tensor> results = workspace.chunk(5, 1);
  results.push_back(at::empty_like(hx, at::MemoryFormat::Contiguous));
  const auto formula = [inputs, hiddens](const auto& values) {
    return gru_values(values, inputs, hiddens);
  };
  evaluate(formula, operands, results);
  return {results[5], workspace};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  Values<Tensor> operands = workspace.chunk(5, 1);
  operands.push_back(grad_hy);
  const Tensor grad_input = grad_hy.new_empty({grad_hy.size(0), 3 * grad_hy.size(1)});
  const Tensor grad_hidden = at::empty_like(grad_input);
  Values<Tensor> results = grad_input.chunk(3, 1);
  const Values<Tensor> of_hidden = grad_hidden.chunk(3, 1);
  results.insert(results.end(), of_hidden.begin(), of_hidden.end());
  results.push_back(at::empty_like(grad_hy, at::MemoryFormat::Contiguous));
  const auto formula = [](const auto& v) {
    const auto &reset = v[0], &update = v[1], &fresh = v[2], &grad = v[5];
    const auto grad_update = grad * (v[3] - fresh) * sigmoid_slope(update);
    const auto grad_new = grad * one_minus(update) * tanh_slope(fresh);
    const auto grad_reset = grad_new * v[4] * sigmoid_slope(reset);
    return std::vector{grad_reset,  grad_update,      grad_new,     grad_reset,
                       grad_update, grad_new * reset, grad * update};
  };
  evaluate(formula, operands, results);
  return {grad_input, grad_hidden, results[6], has_bias ? grad_input.sum(0) : Tensor(),
          has_bias ? grad_hidden.sum(0) : Tensor()};
}

/// A formula that is made once; operands and results have one shape.
class CellStep {
 public:
  CellStep(size_t operands, auto formula) : formed_(expression_of(formula, operands)) {}

  void run(const Values<Tensor>& operands, std::initializer_list<Tensor> results) const {
    const c10::DeviceGuard guard(results.begin()->device());
    KernelCall call("pointwise", results.begin()->device());
    for (const Tensor& operand : operands) {
      TORCH_CHECK(operand.sizes() == results.begin()->sizes(), "a recurrent cell of states ",
                  results.begin()->sizes(), " has gates or a state of ", operand.sizes());
      call.operand(operand);
    }
    for (const Tensor& result : results) call.result(result);
    call.launch(formed_.expression, &formed_.form);
  }

 private:
  FormedExpression formed_;
};

}  // namespace

void lstm_step(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
               const Tensor& hy, const Tensor& cy) {
  static const CellStep step(9, [](const auto& values) {
    const auto all = lstm_values(values, 2);
    return std::vector{all[4], all[5]};
  });
  Values<Tensor> operands = chunks_of_gates({input_gates, hidden_gates}, 4);
  operands.push_back(cx);
  step.run(operands, {hy, cy});
}

void gru_step(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
              const Tensor& hy) {
  static const CellStep step(
      7, [](const auto& values) { return std::vector{gru_values(values, 1, 1).back()}; });
  Values<Tensor> operands = chunks_of_gates({input_gates}, 3);
  const Values<Tensor> hidden = chunks_of_gates({hidden_gates}, 3);
  operands.insert(operands.end(), hidden.begin(), hidden.end());
  operands.push_back(hx);
  step.run(operands, {hy});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

}  // namespace neuron_sim
