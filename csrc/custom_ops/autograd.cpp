// Autograd of the custom ops. Each op is differentiable once.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/library.h>

#include <algorithm>

#include "csrc/custom_ops/gradients.h"
#include "csrc/neuron_sim.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool is_tracked(const Tensor& tensor) {
  return (at::GradMode::is_enabled() && tensor.requires_grad()) ||
         tensor._fw_grad(/*level=*/0).defined();
}
bool is_tracked(at::TensorList tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return is_tracked(t); });
}

/// Whether autograd must see the call. It costs microseconds, so calls without gradients skip it.
template <typename... Tensors>
bool needs_autograd(const Tensors&... tensors) {
  return (is_tracked(tensors) || ...);
}

/// Calls the op's kernel for the tensors' device.
template <typename Op, typename... Arguments>
Tensor call_below(Op op, const Arguments&... arguments) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  return op(arguments...);
}

/// Gradients computed by `compute`; differentiating them again is a clear error.
template <typename Compute>
variable_list once_differentiable(const char* op, Compute compute) {
  variable_list gradients;
  {
    const at::AutoGradMode off(false);
    gradients = compute();
  }
  if (!at::GradMode::is_enabled()) return gradients;
  for (Tensor& gradient : gradients) {
    if (gradient.defined()) gradient = gradient.detach().requires_grad_(true);
  }
  const auto error = std::make_shared<torch::autograd::DelayedError>(
      c10::str("neuron_sim::", op,
               ": the gradient of its gradient is not supported; it is "
               "differentiable once."),
      static_cast<int64_t>(gradients.size()));
  return (*error)(std::move(gradients));
}

/// One argument for autograd, which counts the elements of a list as separate arguments.
struct VectorAddSettings {
  std::string variant;
  int64_t row_chunk, free_dim, num_free_tiles;
  std::vector<int64_t> base_addresses;
};

struct VectorAdd : torch::autograd::Function<VectorAdd> {
  static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b,
                        const VectorAddSettings& settings) {
    context->saved_data["a"] = a.sym_sizes();
    context->saved_data["b"] = b.sym_sizes();
    return call_below(vector_add, a, b, settings.variant, settings.row_chunk, settings.free_dim,
                      settings.num_free_tiles, settings.base_addresses);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return once_differentiable("vector_add", [&]() -> variable_list {
      const auto of = [&](const char* operand, size_t index) {
        if (!context->needs_input_grad(index)) return Tensor();
        return broadcast_gradient(gradients[0], context->saved_data[operand].toSymIntVector());
      };
      return {of("a", 0), of("b", 1), Tensor()};
    });
  }
};

struct Matmul : torch::autograd::Function<Matmul> {
  static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b,
                        const std::string& variant, bool transpose_x) {
    context->save_for_backward({a, b});
    context->saved_data["transpose_x"] = transpose_x;
    return call_below(matmul, a, b, variant, transpose_x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return once_differentiable("matmul", [&]() -> variable_list {
      const variable_list saved = context->get_saved_variables();
      const bool transpose_x = context->saved_data["transpose_x"].toBool();
      auto [a, b] = matmul_gradients(gradients[0], transpose_x ? saved[0].t() : saved[0], saved[1],
                                     {context->needs_input_grad(0), context->needs_input_grad(1)});
      if (transpose_x && a.defined()) a = a.t();
      return {a, b, Tensor(), Tensor()};
    });
  }
};

struct Transpose : torch::autograd::Function<Transpose> {
  static Tensor forward(AutogradContext* context, const Tensor& a, const std::string& engine) {
    context->saved_data["engine"] = engine;
    return call_below(transpose, a, engine);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return once_differentiable("transpose", [&]() -> variable_list {
      return {neuron_sim::transpose(gradients[0], context->saved_data["engine"].toStringRef()),
              Tensor()};
    });
  }
};

struct BiasAddActivation : torch::autograd::Function<BiasAddActivation> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& bias,
                        const std::string& activation) {
    context->save_for_backward({x, bias});
    context->saved_data["activation"] = activation;
    return call_below(bias_add_activation, x, bias, activation);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return once_differentiable("bias_add_activation", [&]() -> variable_list {
      const variable_list saved = context->get_saved_variables();
      auto [x, bias] = bias_add_activation_gradients(
          gradients[0], saved[0], saved[1], context->saved_data["activation"].toStringRef());
      return {x, bias, Tensor()};
    });
  }
};

/// conv2d_maxpool below autograd. Not the public function, whose lists have two values.
Tensor call_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
                        std::string_view activation, at::IntArrayRef dilation, int64_t groups,
                        at::OptionalIntArrayRef pool_stride) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("neuron_sim::conv2d_maxpool", "")
                             .typed<decltype(call_convolution)>();
  const at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(input, weight, bias, pool_size, stride, padding, activation, dilation, groups,
                 pool_stride);
}

/// Calls visit(saved value, option) for the options that a context keeps by name: all but the
/// output dtype, which equals the input's.
template <typename Options, typename Visit>
void for_each_saved(AutogradContext& context, Options& options, const Visit& visit) {
  for_each_field(options, [&](const char* option, auto& field) {
    if constexpr (!requires { field.has_value(); }) visit(context.saved_data[option], field);
  });
}
void save(AutogradContext& context, const Conv2dMaxpoolOptions& options) {
  for_each_saved(context, options, [](c10::IValue& value, const auto& field) {
    if constexpr (requires { field.size(); }) {
      value = std::vector<int64_t>(field.begin(), field.end());
    } else {
      value = static_cast<int64_t>(field);
    }
  });
}
Conv2dMaxpoolOptions saved_options(AutogradContext& context) {
  Conv2dMaxpoolOptions options;
  for_each_saved(context, options, [](const c10::IValue& value, auto& field) {
    if constexpr (requires { field.size(); }) {
      const std::vector<int64_t> values = value.toIntVector();
      std::copy(values.begin(), values.end(), field.begin());
    } else {
      field = static_cast<std::decay_t<decltype(field)>>(value.toInt());
    }
  });
  return options;
}

struct Conv2dMaxpool : torch::autograd::Function<Conv2dMaxpool> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, const Conv2dMaxpoolOptions& options) {
    context->save_for_backward({input, weight, bias});
    save(*context, options);
    return call_convolution(input, weight, bias, options.pool_kernel, options.stride,
                            options.padding, activation_argument(options.activation),
                            options.dilation, options.groups, options.pool_stride);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return once_differentiable("conv2d_maxpool", [&] {
      const variable_list saved = context->get_saved_variables();
      variable_list result = conv2d_maxpool_gradients(
          gradients[0], saved[0], saved[1], saved[2], saved_options(*context),
          {context->needs_input_grad(0), context->needs_input_grad(1),
           context->needs_input_grad(2)});
      result.emplace_back();
      return result;
    });
  }
};

struct FfnnForward : torch::autograd::Function<FfnnForward> {
  static Tensor forward(AutogradContext* context, const Tensor& x, at::TensorList weights,
                        at::TensorList biases, const std::string& hidden,
                        const std::string& output) {
    variable_list saved = {x};
    saved.insert(saved.end(), weights.begin(), weights.end());
    saved.insert(saved.end(), biases.begin(), biases.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["hidden"] = hidden;
    context->saved_data["output"] = output;
    return call_below(ffnn_forward, x, weights, biases, hidden, output);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return once_differentiable("ffnn_forward", [&] {
      const variable_list saved = context->get_saved_variables();
      const at::TensorList all(saved);
      const size_t layers = (saved.size() - 1) / 2;
      std::vector<bool> wanted(saved.size());
      for (size_t i = 0; i < saved.size(); ++i) wanted[i] = context->needs_input_grad(i);
      variable_list result =
          network_gradients(gradients[0],
                            {saved[0], all.slice(1, layers), all.slice(1 + layers, layers),
                             context->saved_data["hidden"].toStringRef(),
                             context->saved_data["output"].toStringRef()},
                            wanted);
      result.resize(result.size() + 2);  // the two names
      return result;
    });
  }
};

Tensor vector_add_autograd(const Tensor& a, const Tensor& b, std::string_view variant,
                           int64_t row_chunk, int64_t free_dim, int64_t num_free_tiles,
                           at::IntArrayRef base_addresses) {
  if (!needs_autograd(a, b)) {
    return call_below(vector_add, a, b, variant, row_chunk, free_dim, num_free_tiles,
                      base_addresses);
  }
  return VectorAdd::apply(a, b,
                          VectorAddSettings{std::string(variant), row_chunk, free_dim,
                                            num_free_tiles, base_addresses.vec()});
}

Tensor matmul_autograd(const Tensor& a, const Tensor& b, std::string_view variant,
                       bool transpose_x) {
  if (!needs_autograd(a, b)) return call_below(matmul, a, b, variant, transpose_x);
  return Matmul::apply(a, b, std::string(variant), transpose_x);
}

Tensor transpose_autograd(const Tensor& a, std::string_view engine) {
  return needs_autograd(a) ? Transpose::apply(a, std::string(engine))
                           : call_below(transpose, a, engine);
}

Tensor bias_add_activation_autograd(const Tensor& x, const Tensor& bias,
                                    std::string_view activation) {
  if (!needs_autograd(x, bias)) return call_below(bias_add_activation, x, bias, activation);
  return BiasAddActivation::apply(x, bias, std::string(activation));
}

Tensor conv2d_maxpool_autograd(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               at::IntArrayRef pool_size, at::IntArrayRef stride,
                               at::IntArrayRef padding, std::string_view activation,
                               at::IntArrayRef dilation, int64_t groups,
                               at::OptionalIntArrayRef pool_stride) {
  if (!needs_autograd(input, weight, bias)) {
    return call_convolution(input, weight, bias, pool_size, stride, padding, activation, dilation,
                            groups, pool_stride);
  }
  return Conv2dMaxpool::apply(input, weight, bias,
                              conv2d_maxpool_options(pool_size, pool_stride.value_or(pool_size),
                                                     stride, padding, dilation, groups,
                                                     activation));
}

Tensor ffnn_forward_autograd(const Tensor& x, at::TensorList weights, at::TensorList biases,
                             std::string_view hidden, std::string_view output) {
  if (!needs_autograd(x, weights, biases)) {
    return call_below(ffnn_forward, x, weights, biases, hidden, output);
  }
  return FfnnForward::apply(x, weights, biases, std::string(hidden), std::string(output));
}

Tensor ffnn_predict_autograd(const Tensor& x, at::TensorList weights, at::TensorList biases,
                             std::string_view hidden, std::string_view output) {
  return call_below(ffnn_predict, x, weights, biases, hidden, output);  // integers: no gradient
}

}  // namespace

TORCH_LIBRARY_IMPL(neuron_sim, Autograd, m) {
  m.impl("vector_add", vector_add_autograd);
  m.impl("matmul", matmul_autograd);
  m.impl("transpose", transpose_autograd);
  m.impl("bias_add_activation", bias_add_activation_autograd);
  m.impl("conv2d_maxpool", conv2d_maxpool_autograd);
  m.impl("ffnn_forward", ffnn_forward_autograd);
  m.impl("ffnn_predict", ffnn_predict_autograd);
  // These raise an error: they are not differentiable themselves.
  m.impl("bias_add_activation_backward", torch::autograd::autogradNotImplementedFallback());
  m.impl("conv2d_maxpool_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace neuron_sim
