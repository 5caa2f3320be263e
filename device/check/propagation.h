#pragma once
// What an instruction makes of undefined operands: it passes them on, element by element, or its
// result as a whole depends on them.

#include "device/program/program.h"

namespace neuron_sim {

/// What operand `position` of an instruction declares (OperandField::undefined). What the operand
/// of an element-wise instruction is follows: it passes them on, as those that is_elementwise
/// speaks of. An operand that is always read and written keeps them. An instruction that reduces
/// what it computes into registers of its engine reports them.
UndefinedUse undefined_use(const Program& program, const Instruction& instruction, size_t position);

/// Whether a tensor other than its destination gets a value: a reduction of what it computes, row
/// by row.
bool reduces(const Program& program, const Instruction& instruction);

/// Whether it writes one value to all elements: element-wise, without a source.
bool fills(const InstructionType& type);

/// Whether the instruction adds to, or takes a maximum with, its own destination by an associative
/// operator: a sum that parallel iterations may form in any order.
bool accumulates(const Program& program, const Instruction& instruction);

}  // namespace neuron_sim
