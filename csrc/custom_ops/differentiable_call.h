#pragma once
// Autograd of the custom ops. Each op is differentiable once. Its gradients are computed by custom
// ops, on the device as its kernels; inputs are recomputed rather than kept, fp16 and bf16 computed
// in fp32 and rounded once per op.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

namespace neuron_sim {

using variable_list = std::vector<at::Tensor>;

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

/// How autograd differentiates an op; lives as long as the process.
struct GradientRule {
  std::string_view schema;
  /// Whether `gradients` takes the tensors of the call. Else only their sizes are kept.
  bool keeps_tensors;
  /// The gradients from the tensors and the other arguments of the call, each in the order of the
  /// schema (an argument with tensors is the number of them); null for an op without gradients.
  variable_list (*gradients)(const Gradient& gradient, at::TensorList tensors,
                             const std::vector<c10::IValue>& arguments);
};

/// `call()`, which autograd differentiates once by `rule` with respect to `tensors`. Compiled once
/// for all ops: a node of autograd takes seconds to compile.
at::Tensor differentiable_call(const GradientRule& rule, at::TensorList tensors,
                               const std::vector<c10::IValue>& arguments,
                               const std::function<at::Tensor()>& call);

/// An argument as autograd keeps it: the number of tensors in a list, nothing for a tensor.
template <typename Argument>
c10::IValue kept_value(const Argument& argument) {
  if constexpr (is_tensor_list<Argument>) {
    return static_cast<int64_t>(argument.size());
  } else if constexpr (is_tensor<Argument>) {
    return {};
  } else {
    return kept(argument);
  }
}

/// The rule of an op (custom_op.h) whose arguments have these types.
template <typename Op, typename... Arguments>
class RuleOf {
  static constexpr bool kHasGradients = requires { &Op::gradients; };
  static constexpr bool kKeepsTensors =
      requires(const Gradient& gradient, const Kept<Arguments>&... arguments) {
    Op::gradients(gradient, arguments...);
  };

  /// Reads the kept arguments in order.
  struct Reader {
    at::TensorList tensors;
    const std::vector<c10::IValue>& arguments;
    size_t position = 0;

    /// The next argument, as a tuple of one, or of none where `gradients` does not take it.
    template <typename Argument>
    auto next() {
      const c10::IValue& value = arguments[position++];
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

  static variable_list gradients(const Gradient& gradient, at::TensorList tensors,
                                 const std::vector<c10::IValue>& arguments) {
    Reader reader{tensors, arguments};
    // In order, thanks to the braces.
    const std::tuple<decltype(reader.template next<Arguments>())...> gradient_arguments{
        reader.template next<Arguments>()...};
    const auto joined = [](const auto&... argument) { return std::tuple_cat(argument...); };
    return std::apply([&](const auto&... argument) { return Op::gradients(gradient, argument...); },
                      std::apply(joined, gradient_arguments));
  }

  static constexpr auto gradients_or_null() -> decltype(GradientRule::gradients) {
    if constexpr (kHasGradients) return gradients;
    return nullptr;
  }

 public:
  static const GradientRule& rule() {
    static const GradientRule rule{Op::kSchema, kKeepsTensors, gradients_or_null()};
    return rule;
  }
};

}  // namespace neuron_sim
