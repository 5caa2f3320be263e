#include "csrc/custom_ops/differentiable_call.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>

namespace neuron_sim {
namespace {

using torch::autograd::AutogradContext;

/// Gradients computed by `compute`; differentiating them again is a clear error.
template <typename Compute>
variable_list once_differentiable(const std::string& op, Compute compute) {
  variable_list gradients;
  {
    const at::AutoGradMode off(false);
    gradients = compute();
  }
  if (!at::GradMode::is_enabled()) return gradients;
  for (at::Tensor& gradient : gradients) {
    if (gradient.defined()) gradient = gradient.detach().requires_grad_(true);
  }
  const auto error = std::make_shared<torch::autograd::DelayedError>(
      c10::str(op,
               ": the gradient of its gradient is not supported; it is "
               "differentiable once."),
      static_cast<int64_t>(gradients.size()));
  return (*error)(std::move(gradients));
}

/// The node of autograd. Its saved data are the address of the rule, the number of tensors, their
/// sizes where only those are kept, and the other arguments.
class DifferentiableCall : public torch::autograd::Function<DifferentiableCall> {
 public:
  static at::Tensor forward(AutogradContext* context, at::TensorList tensors,
                            const GradientRule* rule, const std::vector<c10::IValue>* arguments,
                            const std::function<at::Tensor()>* call) {
    auto& saved = context->saved_data;
    saved["rule"] = reinterpret_cast<int64_t>(rule);
    saved["tensors"] = static_cast<int64_t>(tensors.size());
    if (rule->keeps_tensors) context->save_for_backward(tensors.vec());
    for (size_t i = 0; !rule->keeps_tensors && i < tensors.size(); ++i) {
      saved[c10::str("sizes", i)] = tensors[i].sym_sizes();
    }
    saved["arguments"] = static_cast<int64_t>(arguments->size());
    for (size_t i = 0; i < arguments->size(); ++i) {
      saved[c10::str("argument", i)] = (*arguments)[i];
    }
    return (*call)();
  }

  static variable_list backward(AutogradContext* context, const variable_list& of_result) {
    const auto& rule = *reinterpret_cast<const GradientRule*>(context->saved_data["rule"].toInt());
    const std::string name = qualified_name(rule.schema);
    variable_list result = once_differentiable(name, [&]() -> variable_list {
      TORCH_CHECK(rule.gradients, name, ": its gradient is not supported.");
      return rule.gradients(gradient_of(*context, rule, of_result[0]),
                            context->get_saved_variables(), kept_arguments(*context));
    });
    result.resize(result.size() + 3);  // the rule, the arguments and the call
    return result;
  }

 private:
  static Gradient gradient_of(AutogradContext& context, const GradientRule& rule,
                              const at::Tensor& of_result) {
    Gradient gradient{of_result, {}, {}};
    const auto count = static_cast<size_t>(context.saved_data["tensors"].toInt());
    for (size_t i = 0; i < count; ++i) {
      gradient.wanted.push_back(context.needs_input_grad(i));
      if (rule.keeps_tensors) continue;
      gradient.sizes.push_back(context.saved_data[c10::str("sizes", i)].toSymIntVector());
    }
    return gradient;
  }

  static std::vector<c10::IValue> kept_arguments(AutogradContext& context) {
    const auto count = static_cast<size_t>(context.saved_data["arguments"].toInt());
    std::vector<c10::IValue> arguments;
    for (size_t i = 0; i < count; ++i) {
      arguments.push_back(context.saved_data[c10::str("argument", i)]);
    }
    return arguments;
  }
};

}  // namespace

at::Tensor differentiable_call(const GradientRule& rule, at::TensorList tensors,
                               const std::vector<c10::IValue>& arguments,
                               const std::function<at::Tensor()>& call) {
  return DifferentiableCall::apply(tensors, &rule, &arguments, &call);
}

}  // namespace neuron_sim
