#pragma once
// An aten operator with a device kernel, which may refuse its arguments.

#include <ATen/core/boxing/KernelFunction.h>
#include <torch/library.h>

#include <iterator>
#include <string>
#include <type_traits>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/launch/written_memory.h"
#include "csrc/runtime/errors.h"

namespace neuron_sim {

/// Thrown by a device kernel that cannot take its arguments, before it changes anything. The
/// operator falls back for that reason, or raises with it in strict mode.
struct Refusal {
  std::string reason;  ///< half a sentence: "the chip has no dtype float64"
};

/// Throws Refusal unless the chip computes with tensors of that dtype (dtype_of).
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

/// Calls `function()`, the boxed body of an operator; a Refusal or a KernelError (the chip has no
/// such dtype or no room) falls back with the reason. c10::Error when the body has already written
/// an argument that the CPU would start from.
template <typename Function>
void run_or_fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                      Function&& function) {
  std::string reason;
  const WrittenMemory written;
  try {
    return function();
  } catch (const Refusal& refusal) {
    reason = refusal.reason;
  } catch (const KernelError& error) {
    if (error.kind() == ErrorKind::kIndex) throw_torch_error(error);  // found by the run itself
    reason = error.what();
  } catch (const SimulatorBug& bug) {
    throw_torch_error(bug);
  }
  written.check_unchanged(op, *stack, reason);
  fall_back(op, stack, reason);
}

/// Whether unboxing leaves an argument of that type on the stack; it moves lists and others out.
template <typename Argument>
inline constexpr bool kStaysOnStack =
    std::is_same_v<Argument, const at::Tensor&> || std::is_same_v<Argument, at::Tensor&> ||
    std::is_same_v<Argument, const at::Scalar&> || std::is_arithmetic_v<Argument>;

template <typename Result, typename... Arguments>
constexpr bool all_stay_on_stack(Result (*)(Arguments...)) {
  return (kStaysOnStack<Arguments> && ...);
}

/// The boxed form of a typed device kernel.
template <auto Function>
void boxed_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
  using Pointer =
      c10::CompileTimeFunctionPointer<std::remove_pointer_t<decltype(Function)>, Function>;
  using Functor = typename c10::impl::WrapFunctionIntoFunctor<Pointer>::type;
  Functor functor;
  check_out_devices(op, *stack);
  run_or_fall_back(op, stack, [&] {
    using Boxed = c10::impl::make_boxed_from_unboxed_functor<Functor, true>;
    if constexpr (all_stay_on_stack(Function)) return Boxed::call(&functor, op, keys, stack);
    // The fallback would miss arguments that unboxing moves out of the stack.
    const auto arguments = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
    torch::jit::Stack used(stack->end() - arguments, stack->end());
    Boxed::call(&functor, op, keys, &used);
    torch::jit::drop(*stack, static_cast<size_t>(arguments));
    stack->insert(stack->end(), std::make_move_iterator(used.begin()),
                  std::make_move_iterator(used.end()));
  });
}

/// Registers a typed function as a device kernel that may throw Refusal or KernelError before it
/// changes anything: m.impl("bmm.out", device_operator<bmm_out>()).
template <auto Function>
torch::CppFunction device_operator() {
  return torch::CppFunction::makeFromBoxedFunction<&boxed_kernel<Function>>();
}

}  // namespace neuron_sim
