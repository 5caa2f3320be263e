#pragma once
// Autograd of the custom ops. Each op is differentiable once. Its gradients are computed by custom
// ops, on the device as its kernels; inputs are recomputed rather than kept, fp16 and bf16 computed
// in fp32 and rounded once per op.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>

#include <algorithm>
#include <string>
#include <tuple>

namespace neuron_sim {

using torch::autograd::variable_list;

/// What the gradients of a call are computed from, besides its arguments. Its tensors are counted
/// in the order of the schema, elements of lists singly.
struct Gradient {
  at::Tensor of_result;
  std::vector<bool> wanted;                     ///< per tensor; others may be undefined
  std::vector<std::vector<c10::SymInt>> sizes;  ///< per tensor, where only those are kept

  /// `compute()` where the gradient of tensor `index` is wanted, else undefined.
  template <typename Compute>
  at::Tensor where_wanted(size_t index, Compute compute) const {
    return wanted[index] ? compute() : at::Tensor();
  }
};

/// "neuron_sim::matmul" of the schema "matmul(Tensor a, ...".
inline std::string qualified_name(std::string_view schema) {
  return "neuron_sim::" + std::string(schema.substr(0, schema.find('(')));
}

template <typename Argument>
constexpr bool is_tensor = std::is_same_v<std::decay_t<Argument>, at::Tensor>;
template <typename Argument>
constexpr bool is_tensor_list = std::is_same_v<std::decay_t<Argument>, at::TensorList>;
template <typename Argument>
constexpr bool has_tensors = is_tensor<Argument> || is_tensor_list<Argument>;

/// Whether autograd must see a call. It costs microseconds, so calls without gradients skip it.
template <typename... Arguments>
bool needs_autograd(const Arguments&... arguments) {
  const auto is_tracked = [](const at::Tensor& tensor) {
    return (at::GradMode::is_enabled() && tensor.requires_grad()) ||
           tensor._fw_grad(/*level=*/0).defined();
  };
  const auto any_tracked = [&](const auto& argument) {
    if constexpr (is_tensor<decltype(argument)>) return is_tracked(argument);
    if constexpr (is_tensor_list<decltype(argument)>) {
      return std::any_of(argument.begin(), argument.end(), is_tracked);
    }
    return false;
  };
  return (any_tracked(arguments) || ...);
}

/// The tensors among the arguments, elements of lists singly.
template <typename... Arguments>
variable_list tensors_of(const Arguments&... arguments) {
  variable_list tensors;
  const auto add = [&](const auto& argument) {
    if constexpr (is_tensor<decltype(argument)>) tensors.push_back(argument);
    if constexpr (is_tensor_list<decltype(argument)>) {
      tensors.insert(tensors.end(), argument.begin(), argument.end());
    }
  };
  (add(arguments), ...);
  return tensors;
}

/// Calls the op's kernel for the tensors' device.
template <typename Op, typename... Arguments>
at::Tensor call_below_autograd(Op op, const Arguments&... arguments) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  return op(arguments...);
}

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

/// An argument as it is kept from a call until its gradients are computed.
template <typename Argument>
Argument kept(const Argument& argument) {
  return argument;
}
inline variable_list kept(at::TensorList tensors) { return tensors.vec(); }
inline std::string kept(std::string_view text) { return std::string(text); }
inline std::vector<int64_t> kept(at::IntArrayRef numbers) { return numbers.vec(); }
inline std::optional<std::vector<int64_t>> kept(at::OptionalIntArrayRef numbers) {
  return numbers ? std::optional(numbers->vec()) : std::nullopt;
}
/// A kept argument as the op takes it.
template <typename Argument>
const Argument& argument_of(const Argument& kept) {
  return kept;
}
inline at::OptionalIntArrayRef argument_of(const std::optional<std::vector<int64_t>>& kept) {
  return kept ? at::OptionalIntArrayRef(*kept) : std::nullopt;
}
template <typename Argument>
using Kept = decltype(kept(std::declval<std::decay_t<Argument>>()));

/// A call of `Op` (custom_op.h) with arguments of these types, for autograd. `call` calls it.
template <typename Op, auto call, typename... Arguments>
class DifferentiableCall
    : public torch::autograd::Function<DifferentiableCall<Op, call, Arguments...>> {
  using Context = torch::autograd::AutogradContext;
  static constexpr bool kHasGradients = requires { &Op::gradients; };
  static constexpr bool kKeepsTensors =
      requires(const Gradient& gradient, const Kept<Arguments>&... arguments) {
    Op::gradients(gradient, arguments...);
  };

 public:
  static at::Tensor forward(Context* context, at::TensorList tensors,
                            const std::tuple<const Arguments&...>& arguments) {
    context->saved_data["tensors"] = static_cast<int64_t>(tensors.size());
    if (kKeepsTensors) context->save_for_backward(tensors.vec());
    for (size_t i = 0; !kKeepsTensors && i < tensors.size(); ++i) {
      context->saved_data[c10::str("sizes", i)] = tensors[i].sym_sizes();
    }
    return std::apply(
        [&](const auto&... each) {
          size_t position = 0;
          (keep(context->saved_data[c10::str("argument", position++)], each), ...);
          return call_below_autograd(call, each...);
        },
        arguments);
  }

  static variable_list backward(Context* context, const variable_list& of_result) {
    const std::string name = qualified_name(Op::kSchema);
    variable_list result = once_differentiable(name, [&]() -> variable_list {
      TORCH_CHECK(kHasGradients, name, ": its gradient is not supported.");
      Gradient gradient{of_result[0], {}, {}};
      const auto count = static_cast<size_t>(context->saved_data["tensors"].toInt());
      for (size_t i = 0; i < count; ++i) {
        gradient.wanted.push_back(context->needs_input_grad(i));
        if (kKeepsTensors) continue;
        gradient.sizes.push_back(context->saved_data[c10::str("sizes", i)].toSymIntVector());
      }
      return compute(*context, gradient);
    });
    result.emplace_back();  // the tuple of arguments
    return result;
  }

 private:
  template <typename Argument>
  static void keep(c10::IValue& value, const Argument& argument) {
    if constexpr (is_tensor_list<Argument>) {
      value = static_cast<int64_t>(argument.size());
    } else if constexpr (!is_tensor<Argument>) {
      value = kept(argument);
    }
  }

  /// Reads the kept arguments in order.
  struct Reader {
    const Context& context;
    at::TensorList tensors;
    size_t position = 0;

    /// The next argument, as a tuple of one, or of none where `gradients` does not take it.
    template <typename Argument>
    auto next() {
      const c10::IValue& value = context.saved_data.at(c10::str("argument", position++));
      if constexpr (!has_tensors<Argument>) {
        return std::tuple(value.to<Kept<Argument>>());
      } else if constexpr (!kKeepsTensors) {
        return std::tuple<>();
      } else if constexpr (is_tensor<Argument>) {
        return std::tuple(take(1)[0]);
      } else {
        return std::tuple(take(static_cast<size_t>(value.toInt())).vec());
      }
    }

    at::TensorList take(size_t count) {
      const at::TensorList taken = tensors.slice(0, count);
      tensors = tensors.slice(count);
      return taken;
    }
  };

  static variable_list compute(const Context& context, const Gradient& gradient) {
    if constexpr (!kHasGradients) {
      return {};
    } else {
      const variable_list saved = context.get_saved_variables();
      Reader reader{context, saved};
      // In order, thanks to the braces.
      const std::tuple<decltype(reader.template next<Arguments>())...> each{
          reader.template next<Arguments>()...};
      const auto joined = [](const auto&... argument) { return std::tuple_cat(argument...); };
      return std::apply(
          [&](const auto&... argument) { return Op::gradients(gradient, argument...); },
          std::apply(joined, each));
    }
  }
};

}  // namespace neuron_sim
