#pragma once
// What an instruction makes of undefined operands: it passes them on, element by element, or its
// result as a whole depends on them.

#include "device/program/program.h"

namespace neuron_sim {

/// The effect of undefined elements of an operand that is read.
enum class UndefinedUse : uint8_t {
  kPassedOn,  ///< element i of dst becomes undefined, nothing else depends on it
  kKept,      ///< they stay as they are unless the instruction writes them
  kReported,  ///< an address, a decision, a sum, a product, an output: all of the result depends
};

/// For operand `position` of an instruction.
UndefinedUse undefined_use(const Program& program, const Instruction& instruction, size_t position);

/// Whether the instruction adds to, or takes a maximum with, its own destination by an associative
/// operator: a sum that parallel iterations may form in any order.
bool accumulates(const Program& program, const Instruction& instruction);

}  // namespace neuron_sim
