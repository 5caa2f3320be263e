#pragma once
// Operands of instances that are in HBM instead of SBUF, because a transfer between the two need
// not happen on the host.

#include <cstdint>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// One instance, and where the locations of its operands start.
struct PlannedInstance {
  static constexpr uint32_t kNoLocation = UINT32_MAX;

  uint32_t instruction = 0;
  uint32_t first_location = 0;
  /// Location of a replaced operand that the instance brings towards the processor (read_ahead).
  uint32_t later = kNoLocation;
};

/// Operands in place of those of an instance: per operand an index into `pool`, or -1 for its own.
struct ReplacedOperands {
  const int32_t* indices = nullptr;  ///< null: none is replaced
  const Operand* pool = nullptr;
  /// A replaced operand of a later instance, to be brought towards the processor; null: none.
  const Operand* later = nullptr;
  const Location* later_location = nullptr;

  const Operand& at(size_t i, const Operand& own) const {
    return indices == nullptr || indices[i] < 0 ? own : pool[indices[i]];
  }
};

/// Whether the PE array multiplies the operands of an instruction.
inline bool is_product(const Program& program, const Instruction& instruction) {
  return program.demands[instruction.demand].multiply_accumulates > 0;
}

/// An operand in HBM for one in SBUF.
struct OperandInPlace {
  uint32_t replaced = 0;  ///< index of the location of the one in SBUF
  int32_t operand = 0;    ///< index into OperandsInPlace::operands
  Location location{};    ///< in HBM
};

/// Which instances of a program need not run because others access HBM in place of SBUF.
struct OperandsInPlace {
  std::vector<bool> omitted;      ///< per instance; empty when none is
  std::vector<Operand> operands;  ///< those in HBM instead of SBUF
  /// Per location of the instances: index into `operands`, -1 for the instruction's own operand;
  /// empty when nothing is omitted. A location with an operand of HBM is one in HBM.
  std::vector<int32_t> replaced;

  bool omits(size_t instance) const { return !omitted.empty() && omitted[instance]; }
  bool replaces(size_t location) const { return !replaced.empty() && replaced[location] >= 0; }
  /// Index of an operand in `operands`; most instances of an instruction have equal ones.
  int32_t index_of(const Operand& operand);
  /// Leaves out a transfer, whose HBM `accesses` reach, of a program with so many instances.
  void omit(size_t transfer, const std::vector<OperandInPlace>& accesses, size_t instances,
            std::vector<Location>& locations);
};

}  // namespace neuron_sim
