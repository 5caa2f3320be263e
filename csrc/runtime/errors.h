#pragma once
// The simulator's exceptions become PyTorch's, so that Python sees the right class.

#include <utility>

#include "csrc/runtime/export.h"
#include "device/base/errors.h"

namespace neuron_sim {

/// Throws the c10 exception for a KernelError: c10::ValueError, TypeError, IndexError,
/// OutOfMemoryError (torch.OutOfMemoryError), NotImplementedError, or c10::Error (RuntimeError).
[[noreturn]] NEURON_SIM_TORCH_API void throw_torch_error(const KernelError& error);
/// Throws c10::Error (RuntimeError).
[[noreturn]] NEURON_SIM_TORCH_API void throw_torch_error(const SimulatorBug& bug);

/// Calls `function()` and returns what it returns; a KernelError or SimulatorBug becomes a c10
/// exception. Wrap the body of every kernel that PyTorch's dispatcher calls:
/// `return translate_errors([&] { ... });`
template <typename Function>
decltype(auto) translate_errors(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const KernelError& error) {
    throw_torch_error(error);
  } catch (const SimulatorBug& bug) {
    throw_torch_error(bug);
  }
}

}  // namespace neuron_sim
