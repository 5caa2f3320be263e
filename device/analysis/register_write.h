#pragma once
// Which register an instruction writes, for analyses that track registers through a program.

#include <cstdint>
#include <optional>

#include "device/program/program.h"

namespace neuron_sim {

/// A register write of an instruction: of a constant, of another register, or of a value that only
/// memory holds.
struct RegisterWrite {
  int16_t dst = -1;
  enum class Source : uint8_t { kConstant, kRegister, kMemory } source = Source::kMemory;
  int64_t constant = 0;
  int16_t register_index = -1;  ///< of kRegister
  bool is_virtual = false;      ///< the kernel named no engine: all sequencers hold the register
};

/// The register that the instruction writes; empty for all but register_alloc with a value,
/// register_move and register_load.
std::optional<RegisterWrite> register_write(const Program& program, const Instruction& instruction);

/// Whether an instruction of a block, or of its loops, writes the register; a range writes its
/// counter.
bool writes_register(const Program& program, const Block& block, int64_t register_index);

}  // namespace neuron_sim
