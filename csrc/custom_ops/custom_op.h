#pragma once
// A custom op is declared once, by a struct in its own file that states only what is special to it.
//
//   struct Scale {
//     static constexpr const char* kSchema = "scale(Tensor x, *, float factor=2.0) -> Tensor";
//     static constexpr auto& kKernel = kScale;  // its KernelDefinition<ScaleOptions>
//     /// Checks the arguments of the schema.
//     static Invocation<ScaleOptions> prepare(const Tensor& x, double factor);
//     /// Computes `out` on the CPU; the operands are contiguous.
//     static void reference(const Invocation<ScaleOptions>& call, const Tensor& out);
//     /// Gradients of its tensors, in order, elements of lists singly.
//     static variable_list gradients(const Gradient& gradient, const Tensor& x, double factor);
//   };
//   const CustomOp<Scale> kRegistration;
//
// The schema, the kernels for meta, CPU and device tensors and for autograd follow from it, and
// CustomOp<Scale>::call(x, factor), a call through the dispatcher. Further members:
//
// - `gradients` may take the arguments without the tensors: then only the sizes of the tensors are
//   kept for it. Without `gradients`, floating results refuse to be differentiated.
// - `kBroadcasts = true`: operands have strides of 0 where the result is larger.
// - `kReturned`: the dtype that is returned, where the chip lacks it.
//
// `prepare` and `reference` may raise KernelError. Errors: RuntimeError for tensors on different
// devices, TypeError for dtypes, else ValueError; the same on every device.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <functional>
#include <string>

#include "csrc/custom_ops/differentiable_call.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"

namespace neuron_sim {

using Sizes = c10::SymDimVector;

/// The operands of a kernel; their list holds no further references to them.
struct Operands : c10::SmallVector<at::Tensor, 8> {
  Operands(std::initializer_list<std::reference_wrapper<const at::Tensor>> operands) {
    append(operands.begin(), operands.end());
  }
};

/// The kernel's operands and options for the arguments of an op, and its result.
template <typename Options>
struct Invocation {
  Operands operands;
  Options options;
  Sizes sizes;           ///< of the result
  at::ScalarType dtype;  ///< of the kernel's result
};

/// A new dense tensor of these sizes, this dtype and on this device.
inline at::Tensor new_dense(const at::Tensor& like) {
  return at::empty_symint(like.sym_sizes(), like.options());
}

/// The entry of an op in the dispatcher.
template <typename Signature>
c10::TypedOperatorHandle<Signature> find_op(std::string_view schema) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(qualified_name(schema).c_str(), "")
      .template typed<Signature>();
}

/// Registers a schema. torch.compile and torch.export may trace the ops, which have meta kernels.
inline torch::Library declare_op(std::string_view schema) {
  torch::Library library(torch::Library::FRAGMENT, "neuron_sim", std::nullopt, __FILE__, __LINE__);
  const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
  library.def(std::string(schema).c_str(), tags);
  return library;
}

template <typename Op, typename Prepare = std::remove_reference_t<decltype(Op::prepare)>>
class CustomOp;

/// Registers the op; one constant of its file.
template <typename Op, typename Options, typename... Arguments>
class CustomOp<Op, Invocation<Options>(Arguments...)> {
 public:
  CustomOp() : library_(declare_op(Op::kSchema)) {
    const std::string name = qualified_name(Op::kSchema);
    library_.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(on_meta)));
    library_.impl(name.c_str(), torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(on_cpu)));
    library_.impl(name.c_str(),
                  torch::dispatch(c10::DispatchKey::PrivateUse1, TORCH_FN(on_device)));
    library_.impl(name.c_str(),
                  torch::dispatch(c10::DispatchKey::Autograd, TORCH_FN(with_gradients)));
  }

  /// Calls the op for the tensors' device.
  static at::Tensor call(Arguments... arguments) {
    static const auto op = find_op<at::Tensor(Arguments...)>(Op::kSchema);
    return op.call(arguments...);
  }

 private:
  static at::Tensor on_meta(Arguments... arguments) {
    return translate_errors(Op::kSchema, [&] {
      const Invocation<Options> call = Op::prepare(arguments...);
      return at::empty_symint(call.sizes, like_operands(call, returned_dtype(call)));
    });
  }

  static at::Tensor on_cpu(Arguments... arguments) {
    return translate_errors(Op::kSchema, [&] {
      Invocation<Options> call = Op::prepare(arguments...);
      broadcast(call);
      for (at::Tensor& operand : call.operands) operand = operand.contiguous();
      const at::Tensor out = new_result(call);
      Op::reference(call, out);
      return returned(out);
    });
  }

  static at::Tensor on_device(Arguments... arguments) {
    return translate_errors(Op::kSchema, [&] {
      Invocation<Options> call = Op::prepare(arguments...);
      broadcast(call);
      const at::Tensor out = new_result(call);
      KernelCall kernel(Op::kKernel.name, out.device());
      for (const at::Tensor& operand : call.operands) kernel.operand(operand);
      kernel.result(out).launch(Op::kKernel, call.options);
      return returned(out);
    });
  }

  static at::Tensor with_gradients(Arguments... arguments) {
    const auto below = [&] {
      const at::AutoDispatchBelowADInplaceOrView guard;
      return call(arguments...);
    };
    if (!needs_autograd(arguments...)) return below();
    return differentiable_call(RuleOf<Op, Arguments...>::rule(), tensors_of(arguments...),
                               {kept_value(arguments)...}, below);
  }

  static at::Tensor returned(const at::Tensor& out) {
    if constexpr (requires { Op::kReturned; }) {
      return out.to(Op::kReturned);
    } else {
      return out;
    }
  }
  static at::ScalarType returned_dtype(const Invocation<Options>& call) {
    if constexpr (requires { Op::kReturned; }) {
      return Op::kReturned;
    } else {
      return call.dtype;
    }
  }
  static at::TensorOptions like_operands(const Invocation<Options>& call, at::ScalarType dtype) {
    return at::TensorOptions().dtype(dtype).device(call.operands.front().device());
  }
  static at::Tensor new_result(const Invocation<Options>& call) {
    return at::empty(C10_AS_INTARRAYREF_SLOW(c10::SymIntArrayRef(call.sizes)),
                     like_operands(call, call.dtype));
  }
  static void broadcast(Invocation<Options>& call) {
    if constexpr (requires { Op::kBroadcasts; }) {
      const c10::SymIntArrayRef sizes(call.sizes);
      for (at::Tensor& operand : call.operands) {
        if (operand.sym_sizes() != sizes) operand = operand.expand_symint(sizes);
      }
    }
  }

  torch::Library library_;
};

/// An op with several results and its three kernels, such as the gradients of another one. It is
/// not differentiable.
template <typename Result, typename... Arguments>
class BackwardOp {
 public:
  using Kernel = Result (*)(Arguments...);

  BackwardOp(std::string_view schema, Kernel on_meta, Kernel on_cpu, Kernel on_device)
      : library_(declare_op(schema)), op_(find_op<Result(Arguments...)>(schema)) {
    const std::string name = qualified_name(schema);
    library_.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Meta, on_meta));
    library_.impl(name.c_str(), torch::dispatch(c10::DispatchKey::CPU, on_cpu));
    library_.impl(name.c_str(), torch::dispatch(c10::DispatchKey::PrivateUse1, on_device));
    library_.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Autograd,
                                                torch::autograd::autogradNotImplementedFallback()));
  }

  /// Calls the op for the tensors' device.
  Result operator()(Arguments... arguments) const { return op_.call(arguments...); }

 private:
  torch::Library library_;
  const c10::TypedOperatorHandle<Result(Arguments...)> op_;
};

}  // namespace neuron_sim
