#pragma once
// The functions that builtin_custom_op can call, and the names its attributes stand for.

#include <functional>
#include <span>
#include <string>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

inline constexpr int kMaximumCustomOperands = 8;  ///< of each direction

/// A function of a GpSimd library, written by the user in place of its microcode.
struct CustomFunction {
  int sources = 1;       ///< 0 to kMaximumCustomOperands
  int destinations = 1;  ///< 1 to kMaximumCustomOperands
  /// Whether it takes these dtypes; empty: all.
  std::function<bool(std::span<const Dtype> sources, std::span<const Dtype> destinations)>
      accepts{};
  /// Computes all elements of the destinations; must not keep state.
  std::function<void(std::span<const Access> sources, std::span<const Access> destinations)> run{};
  /// GpSimd cycles per element per partition of the largest operand.
  double cycles_per_element = 1;
};

/// Registers a function under that name until the process ends. KernelError when the name is taken
/// or the function is incomplete. Thread-safe.
void register_custom_function(const std::string& name, CustomFunction function);
/// Null when it is not registered. The function stays valid. Thread-safe.
const CustomFunction* find_custom_function(const std::string& name);

/// A number for a text, always the same for the same text, so that an Attribute can hold it.
int64_t number_of_text(const std::string& text);
/// The text of such a number. Thread-safe, like the above.
const std::string& text_of_number(int64_t number);

}  // namespace neuron_sim
