// Optimizer steps with `fused=True`: one kernel per parameter. Numbers that change from step to
// step are 0-dimensional operands, so that the kernels are compiled once.

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/pow.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/kernel_call.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using at::TensorList;
using OptionalTensor = std::optional<Tensor>;

/// Arguments shared by all fused steps.
struct Step {
  Tensor rate;  ///< fp32 without dimensions, on the device
  bool maximize;
  OptionalTensor scale, found_inf;
};

Tensor on_device_of(const Tensor& parameter, double number) {
  return at::full({}, number, parameter.options().dtype(at::kFloat));
}

/// Whether a gradient was not finite, so that nothing changes.
bool is_skipped(const Step& step) {
  return step.found_inf && step.found_inf->defined() && step.found_inf->item<double>() != 0;
}

/// Refuses before anything changes; unscales the gradients. `states` are the lists that the step
/// updates besides the parameters.
void prepare(TensorList parameters, TensorList gradients, std::initializer_list<TensorList> states,
             const Step& step) {
  const auto check = [](const Tensor& tensor, const Tensor& parameter) {
    check_computable(tensor.scalar_type());
    if (!tensor.is_floating_point()) throw Refusal{"parameters have floating dtypes"};
    if (tensor.sizes() != parameter.sizes()) throw Refusal{"gradients or states are expanded"};
    if (tensor.device() != parameter.device()) throw Refusal{"states are on another device"};
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    check(parameters[i], parameters[i]);
    check(gradients[i], parameters[i]);
    for (const TensorList state : states) check(state[i], parameters[i]);
  }
  if (!step.scale || !step.scale->defined()) return;
  for (const Tensor& gradient : gradients) gradient.div_(*step.scale);
}

/// Runs an expression whose results replace the first operands.
void update(const Expression& expression, const std::vector<Tensor>& written,
            const std::vector<Tensor>& read) {
  const Tensor& first = written.front();
  if (first.numel() == 0) return;
  KernelCall call("optimizer", first.device());
  for (const Tensor& tensor : written) call.operand(tensor);
  for (const Tensor& tensor : read) {
    const Tensor whole = tensor.expand_as(first);
    call.operand(whole, whole.sizes(), whole.strides());
  }
  for (const Tensor& tensor : written) call.result(tensor);
  call.launch(expression);
}

struct Adam {
  double beta1, beta2, decay, epsilon;
  bool amsgrad, decoupled;
};

/// Operands: parameter, mean, square (, its maximum), gradient, step size, root of the correction,
/// and the factor of decoupled decay.
Expression adam_expression(const Adam& adam, bool maximize) {
  Expression e;
  const int states = adam.amsgrad ? 4 : 3;
  ElementValue parameter = e.input(0), gradient = e.input(states);
  const ElementValue mean = e.input(1), square = e.input(2);
  if (maximize) gradient = -gradient;
  if (adam.decoupled) parameter = parameter * e.input(states + 3);
  if (!adam.decoupled && adam.decay != 0) gradient = gradient + parameter * adam.decay;
  const ElementValue new_mean = mean + (gradient - mean) * (1 - adam.beta1);
  const ElementValue new_square = square * adam.beta2 + gradient * gradient * (1 - adam.beta2);
  const ElementValue largest = adam.amsgrad ? maximum(e.input(3), new_square) : new_square;
  const ElementValue spread = call(Activation::kSqrt, largest) / e.input(states + 2) + adam.epsilon;
  e.add_result(parameter - e.input(states + 1) * new_mean / spread);
  e.add_result(new_mean);
  e.add_result(new_square);
  if (adam.amsgrad) e.add_result(largest);
  return e;
}

void run_adam(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
              TensorList largest, TensorList steps, const Adam& adam, const Step& step) {
  if (parameters.empty() || is_skipped(step)) return;
  const c10::DeviceGuard guard(parameters.front().device());
  prepare(parameters, gradients, {means, squares, adam.amsgrad ? largest : means}, step);
  const Expression expression = adam_expression(adam, step.maximize);
  const Tensor kept = step.rate * -adam.decay + 1.0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor count = steps[i].to(parameters[i].device()).to(at::kFloat);
    const Tensor size = step.rate / (at::pow(adam.beta1, count) * -1.0 + 1.0);
    const Tensor root = (at::pow(adam.beta2, count) * -1.0 + 1.0).sqrt();
    std::vector<Tensor> written{parameters[i], means[i], squares[i]};
    if (adam.amsgrad) written.push_back(largest[i]);
    std::vector<Tensor> read{gradients[i], size, root};
    if (adam.decoupled) read.push_back(kept);
    update(expression, written, read);
  }
}

template <bool decoupled>
void adam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
               TensorList largest, TensorList steps, double rate, double beta1, double beta2,
               double decay, double epsilon, bool amsgrad, bool maximize,
               const OptionalTensor& scale, const OptionalTensor& found_inf) {
  if (parameters.empty()) return;
  run_adam(parameters, gradients, means, squares, largest, steps,
           {beta1, beta2, decay, epsilon, amsgrad, decoupled},
           {on_device_of(parameters.front(), rate), maximize, scale, found_inf});
}

template <bool decoupled>
void adam_step_of_tensor(TensorList parameters, TensorList gradients, TensorList means,
                         TensorList squares, TensorList largest, TensorList steps,
                         const Tensor& rate, double beta1, double beta2, double decay,
                         double epsilon, bool amsgrad, bool maximize, const OptionalTensor& scale,
                         const OptionalTensor& found_inf) {
  adam_step<decoupled>(parameters, gradients, means, squares, largest, steps, rate.item<double>(),
                       beta1, beta2, decay, epsilon, amsgrad, maximize, scale, found_inf);
}

struct Descent {
  double decay, momentum, dampening;
  bool nesterov, first;
};

/// Operands: parameter (, momentum), gradient, rate.
Expression descent_expression(const Descent& descent, bool maximize) {
  Expression e;
  const bool moves = descent.momentum != 0;
  const ElementValue parameter = e.input(0), rate = e.input(moves ? 3 : 2);
  ElementValue gradient = e.input(moves ? 2 : 1);
  if (maximize) gradient = -gradient;
  if (descent.decay != 0) gradient = gradient + parameter * descent.decay;
  if (!moves) {
    e.add_result(parameter - rate * gradient);
    return e;
  }
  const ElementValue speed =
      descent.first ? gradient : e.input(1) * descent.momentum + gradient * (1 - descent.dampening);
  const ElementValue way = descent.nesterov ? gradient + speed * descent.momentum : speed;
  e.add_result(parameter - rate * way);
  e.add_result(speed);
  return e;
}

void descent_step(TensorList parameters, TensorList gradients, TensorList momenta, double decay,
                  double momentum, double rate, double dampening, bool nesterov, bool maximize,
                  bool first, const OptionalTensor& scale, const OptionalTensor& found_inf) {
  if (parameters.empty()) return;
  const Step step{on_device_of(parameters.front(), rate), maximize, scale, found_inf};
  if (is_skipped(step)) return;
  const c10::DeviceGuard guard(parameters.front().device());
  prepare(parameters, gradients, {momentum != 0 ? momenta : parameters}, step);
  const Expression expression =
      descent_expression({decay, momentum, dampening, nesterov, first}, maximize);
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::vector<Tensor> written{parameters[i]};
    if (momentum != 0) written.push_back(momenta[i]);
    update(expression, written, {gradients[i], step.rate});
  }
}

void descent_step_of_tensor(TensorList parameters, TensorList gradients, TensorList momenta,
                            double decay, double momentum, const Tensor& rate, double dampening,
                            bool nesterov, bool maximize, bool first, const OptionalTensor& scale,
                            const OptionalTensor& found_inf) {
  descent_step(parameters, gradients, momenta, decay, momentum, rate.item<double>(), dampening,
               nesterov, maximize, first, scale, found_inf);
}

/// Operands: parameter, sum of squares, gradient, rate.
void adagrad_step(TensorList parameters, TensorList gradients, TensorList sums, TensorList steps,
                  double rate, double rate_decay, double decay, double epsilon, bool maximize,
                  const OptionalTensor& scale, const OptionalTensor& found_inf) {
  if (parameters.empty()) return;
  const Step step{on_device_of(parameters.front(), rate), maximize, scale, found_inf};
  if (is_skipped(step)) return;
  const c10::DeviceGuard guard(parameters.front().device());
  prepare(parameters, gradients, {sums}, step);
  Expression e;
  const ElementValue given = maximize ? -e.input(2) : e.input(2);
  const ElementValue gradient = decay != 0 ? given + e.input(0) * decay : given;
  const ElementValue sum = e.input(1) + gradient * gradient;
  e.add_result(e.input(0) - e.input(3) * gradient / (call(Activation::kSqrt, sum) + epsilon));
  e.add_result(sum);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor count = steps[i].to(parameters[i].device()).to(at::kFloat);
    update(e, {parameters[i], sums[i]},
           {gradients[i], step.rate / ((count - 1.0) * rate_decay + 1.0)});
  }
}

void adagrad_step_of_tensor(TensorList parameters, TensorList gradients, TensorList sums,
                            TensorList steps, const Tensor& rate, double rate_decay, double decay,
                            double epsilon, bool maximize, const OptionalTensor& scale,
                            const OptionalTensor& found_inf) {
  adagrad_step(parameters, gradients, sums, steps, rate.item<double>(), rate_decay, decay, epsilon,
               maximize, scale, found_inf);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_adam_", device_operator<adam_step<false>>());
  m.impl("_fused_adam_.tensor_lr", device_operator<adam_step_of_tensor<false>>());
  m.impl("_fused_adamw_", device_operator<adam_step<true>>());
  m.impl("_fused_adamw_.tensor_lr", device_operator<adam_step_of_tensor<true>>());
  m.impl("_fused_sgd_", device_operator<descent_step>());
  m.impl("_fused_sgd_.tensor_lr", device_operator<descent_step_of_tensor>());
  m.impl("_fused_adagrad_", device_operator<adagrad_step>());
  m.impl("_fused_adagrad_.tensor_lr", device_operator<adagrad_step_of_tensor>());
}

}  // namespace neuron_sim
