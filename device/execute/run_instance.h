#pragma once
// Runs one instance: resolves its operands to storage, calls the instruction, keeps the fp32
// copies of low-precision tiles up to date.

#include <array>
#include <span>
#include <vector>

#include "device/memory/core_memory.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Storage and register state of one launch. One per host thread (registers: serial runs only).
class InstanceRunner {
 public:
  InstanceRunner(const Program& program, CoreMemory& memory, std::span<std::byte* const> arguments);

  /// `locations` has one entry per operand.
  void run(const Instruction& instruction, const Location* locations);

  /// Registers of an engine's sequencer.
  RegisterFile& registers(EngineKind engine) { return registers_[static_cast<size_t>(engine)]; }
  /// Rows that the last indirect instruction moved; -1 when the last one was not indirect.
  int64_t moved_rows() const { return moved_rows_; }
  /// Writes the pattern of uninitialised memory into a tile.
  void fill(const Tile& tile);

 private:
  Access resolve(const Operand& operand, const Location& location);
  void resolve_rows(const Instruction& instruction, std::span<Access> accesses);
  void check_address(const Instruction& instruction, const Operand& operand,
                     const Location& location) const;
  void widen(const Access& access);

  const Program& program_;
  CoreMemory& memory_;
  std::span<std::byte* const> arguments_;
  std::array<Access, kMaximumOperands> accesses_{};
  std::array<RegisterFile, kEngineCount> registers_{};
  std::vector<int32_t> rows_;
  int64_t moved_rows_ = -1;
};

}  // namespace neuron_sim
