#pragma once
// Properties derived once when a kernel is complete.

#include <span>
#include <vector>

#include "device/builder/hazard_groups.h"

namespace neuron_sim {

/// How the operands of a program use its tiles.
struct OperandUsage {
  std::vector<TensorAccesses> tensors;  ///< per tile
  std::vector<bool> matmul_operand, other_dtype;

  explicit OperandUsage(size_t tiles) : tensors(tiles), matmul_operand(tiles), other_dtype(tiles) {}
  /// Notes an operand of an instruction with that demand, which `loops` repeat.
  void note(std::span<const Tile> tiles, const Instruction& instruction, const Demand& demand,
            const Operand& operand, std::span<const Repetition> loops);
};

/// Fills in argument directions, hazard groups, widened tiles and loop periods.
///
/// Hazard groups: tiles whose bytes may overlap share one access history. HBM tensors that are
/// only read, or written so that no two instances touch the same byte, need none (except tensors of
/// barriers). HBM tensors have one group for all cores; each core keeps its own history.
/// Widened tiles: low-precision SBUF tiles that nc_matmul reads and that are only ever accessed
/// with their own dtype; the executor keeps an fp32 copy of them.
/// Loop period: iterations after which all rings that the loop variable turns come full circle.
/// KernelError for programs of two cores that race or cannot meet (race_check.h).
void finish_program(Program& program);
/// The same for a program without loops, all of whose operands `usage` has.
void finish_program(Program& program, const OperandUsage& usage);

}  // namespace neuron_sim
