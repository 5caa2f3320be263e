#pragma once
// The simulator's exceptions become PyTorch's, so that Python sees the right class.

#include <new>
#include <string_view>
#include <utility>

#include "csrc/runtime/export.h"
#include "device/base/errors.h"

namespace neuron_sim {

/// Throws the c10 exception for a KernelError: c10::ValueError, TypeError, IndexError,
/// OutOfMemoryError (torch.OutOfMemoryError), NotImplementedError, or c10::Error (RuntimeError).
[[noreturn]] NEURON_SIM_TORCH_API void throw_torch_error(const KernelError& error);
/// Throws c10::Error (RuntimeError).
[[noreturn]] NEURON_SIM_TORCH_API void throw_torch_error(const SimulatorBug& bug);
/// Throws c10::Error (RuntimeError, as the CPU's allocator does): the host has no memory for
/// `what`, "operator 'aten::mm' of self [2, 3] float32"; empty where nobody knows.
[[noreturn]] NEURON_SIM_TORCH_API void throw_host_out_of_memory(std::string_view what);

/// Calls `function()` and returns what it returns; a KernelError, SimulatorBug or std::bad_alloc
/// becomes a c10 exception, the last one with `what` was called. Wrap the body of every kernel that
/// PyTorch's dispatcher calls: `return translate_errors([&] { ... });`
template <typename Function>
decltype(auto) translate_errors(std::string_view what, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const KernelError& error) {
    throw_torch_error(error);
  } catch (const SimulatorBug& bug) {
    throw_torch_error(bug);
  } catch (const std::bad_alloc&) {
    throw_host_out_of_memory(what);
  }
}
template <typename Function>
decltype(auto) translate_errors(Function&& function) {
  return translate_errors({}, std::forward<Function>(function));
}

}  // namespace neuron_sim
