#pragma once
// An aten operator with a device kernel, which may refuse its arguments.

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/util/FunctionRef.h>
#include <torch/library.h>

#include <string>
#include <type_traits>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/runtime/errors.h"

namespace neuron_sim {

/// Thrown by a device kernel that cannot take its arguments, before it changes anything. The
/// operator falls back for that reason, or raises with it in strict mode.
struct Refusal {
  std::string reason;  ///< half a sentence: "the chip has no dtype float64"
};

/// Whether the chip computes with tensors of that dtype (dtype_of).
bool is_computable(at::ScalarType type);
/// Throws Refusal unless is_computable().
void check_computable(at::ScalarType type);
/// Throws Refusal unless the chip computes with tensors of that dtype and it is floating.
void check_floating(const at::Tensor& tensor);
/// RuntimeError, in torch's words, unless an `out` argument has that dtype.
void check_out_dtype(const at::Tensor& out, at::ScalarType dtype);
/// RuntimeError, in torch's words, unless results of that dtype may be cast to that of `out`.
void check_castable(at::ScalarType dtype, const at::Tensor& out);
/// Resizes `out`, with torch's warning if it is not empty, and copies the result into it.
/// RuntimeError as check_castable().
at::Tensor& give_result(const at::Tensor& result, at::Tensor& out);

/// Calls `function(stack)`, the boxed body of an operator; a Refusal or a KernelError (the chip has
/// no such dtype or no room) falls back with the reason. c10::Error when the body has already
/// written an argument that the CPU would start from. `function` gets a copy of the arguments
/// unless it `keeps_arguments`: the fallback would miss what it moves out of the stack.
void run_or_fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack, bool keeps_arguments,
                      c10::function_ref<void(torch::jit::Stack*)> function);

/// Falls back as run_or_fall_back() does for a kernel that has refused for `reason`, which it says
/// without an exception.
void refuse(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& reason);

/// Whether unboxing leaves an argument of that type on the stack; it moves lists and others out.
template <typename Argument>
inline constexpr bool kStaysOnStack =
    std::is_same_v<Argument, const at::Tensor&> || std::is_same_v<Argument, at::Tensor&> ||
    std::is_same_v<Argument, const at::Scalar&> || std::is_arithmetic_v<Argument>;

/// Calls a typed device kernel with the arguments on `stack`. Compiled once for all kernels of one
/// signature, as unboxing is most of an operator's code.
template <typename Result, typename... Arguments>
void run_typed(Result (*kernel)(Arguments...), const c10::OperatorHandle& op,
               c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using Functor = c10::impl::WrapFunctionIntoRuntimeFunctor<Result (*)(Arguments...)>;
  Functor functor(kernel);
  check_out_devices(op, *stack);
  run_or_fall_back(op, stack, (kStaysOnStack<Arguments> && ...), [&](torch::jit::Stack* used) {
    c10::impl::make_boxed_from_unboxed_functor<Functor, true>::call(&functor, op, keys, used);
  });
}

/// The boxed form of a typed device kernel.
template <auto Function>
void boxed_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
  run_typed(Function, op, keys, stack);
}

/// Registers a typed function as a device kernel that may throw Refusal or KernelError before it
/// changes anything: m.impl("bmm.out", device_operator<bmm_out>()).
template <auto Function>
torch::CppFunction device_operator() {
  return torch::CppFunction::makeFromBoxedFunction<&boxed_kernel<Function>>();
}

}  // namespace neuron_sim
