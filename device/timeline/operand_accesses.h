#pragma once
// What each instance accesses: of instructions in loops worked out ahead, and moved with the loops'
// variables.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "device/program/program.h"
#include "device/timeline/pending_accesses.h"

namespace neuron_sim {

/// What an instance does with one operand, and where.
struct OperandAccess {
  Location location;
  PendingAccesses* pending = nullptr;  ///< of its hazard group; null: needs none
  uint8_t operand = 0;                 ///< its number
  bool reads = false, writes = false;
  Region region;
};

/// The accesses of one core's instances. Register values move addresses, never times: operands with
/// one have their whole tile as region, and 0 will do for any value.
class OperandAccesses {
 public:
  OperandAccesses(const Program& program, size_t core, std::vector<PendingAccesses>& pending);

  /// A loop begins an iteration: moves what is in it.
  void iterate(uint32_t loop, int64_t iteration) {
    if (loops_.empty()) return;
    const int64_t by = iteration - loops_[loop].iteration;
    if (by != 0) move(loops_[loop], by);
  }
  /// Those of an instance, in the order of operands, without absent ones; valid until the next
  /// call.
  std::span<const OperandAccess> at(uint32_t instruction, const int64_t* variables) {
    if (planned_.empty() || planned_[instruction].count == 0) {
      return resolve(instruction, variables);
    }
    const Planned& planned = planned_[instruction];
    return {accesses_.data() + planned.first, planned.count};
  }

 private:
  /// The accesses of an instruction in a loop; none: they are resolved for each instance.
  struct Planned {
    uint32_t first = 0, count = 0;
  };
  /// Where an access is in its ring of tiles.
  struct Turn {
    TileId first = kNoTile;
    int32_t ring = 1, turn = 0;
    int64_t bytes = 0;  ///< from one tile to the next
  };
  /// How far an access moves from one iteration of a loop to the next.
  struct Motion {
    uint32_t access = 0;
    int32_t partitions = 0, turns = 0;
    int64_t bytes = 0;
  };
  /// A loop and what moves with its variable, which is `iteration` for all of them.
  struct LoopMotion {
    int64_t iteration = 0;
    std::vector<Motion> motions;
  };

  void plan(const Block& block);
  void plan_motions(const Operand& operand);
  void add(const Operand& operand, uint8_t number, const int64_t* variables);
  std::span<const OperandAccess> resolve(uint32_t instruction, const int64_t* variables);
  void move(LoopMotion& loop, int64_t by);
  void turn(OperandAccess& access, Turn& turn, int64_t by);

  const Program& program_;
  std::vector<PendingAccesses*> pending_of_tile_;  // null: needs none
  std::vector<Planned> planned_;                   // by instruction; empty without loops
  std::vector<LoopMotion> loops_;                  // by loop; empty without loops
  // Accesses of planned instructions, followed by those of the instance resolved last.
  std::vector<OperandAccess> accesses_;
  std::vector<Turn> turns_;           // by planned access
  std::vector<uint32_t> open_loops_;  // while planning
};

}  // namespace neuron_sim
