#pragma once
// Loads that need not happen on the host: tiles that only products read, which find the same bytes
// in the HBM tensor that they come from.

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

/// Which instances of a program need not run because others read HBM in place of their results.
struct LoadsInPlace {
  std::vector<bool> omitted;      ///< per instance; empty when none is
  std::vector<Operand> operands;  ///< those that read HBM instead of SBUF
  /// Per location of the instances: index into `operands`, -1 for the instruction's own operand;
  /// empty when nothing is omitted. A location with an operand of HBM is one in HBM.
  std::vector<int32_t> replaced;
};

/// Finds the transfers from tensors that the program never writes whose bytes in SBUF only operands
/// of products read, each within one transfer, before they are overwritten. Weights and
/// activations of a product are such: copying them first would take as long as reading them from
/// HBM. Programs with edges keep all of theirs. `instances` are all of a program without registers,
/// in program order; the `locations` of operands replaced become those in HBM. The bytes that a
/// program stores do not change, those that it leaves in SBUF do.
LoadsInPlace loads_in_place(const Program& program, const std::vector<PlannedInstance>& instances,
                            std::vector<Location>& locations);

}  // namespace neuron_sim
