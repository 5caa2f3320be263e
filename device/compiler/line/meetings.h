#pragma once
// What a straight line of a program of two cores must keep in order for the other core: its
// meetings, and its accesses to bytes in HBM that the other core touches.

#include <cstdint>
#include <vector>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Whether the instance meets one of the other core.
inline bool is_meeting(const StraightInstruction& instance) {
  return meets_other_core(instance.instruction.type->synchronises);
}

/// What the other core reads and writes in HBM; meetings move no bytes there.
class PeerAccesses {
 public:
  /// `tiles`: of the program. Accesses are added, then sealed once.
  explicit PeerAccesses(size_t tiles) : accesses_(tiles), longest_(tiles) {}
  void add(const Operand& operand);
  /// Sorts the accesses. `written`: per tile, whether the line itself writes it; tensors that
  /// neither core writes are dropped.
  void seal(const std::vector<bool>& written);
  /// Whether an access of the line and one of the other core may share bytes, which one of them
  /// writes.
  bool conflict_with(const Operand& operand) const;

 private:
  struct Access {
    Region region;
    bool writes = false;
  };
  std::vector<std::vector<Access>> accesses_;  ///< per tile, by first byte
  std::vector<int64_t> longest_;               ///< per tile: bytes that one spans at most
};

/// Whether the operand touches bytes in HBM that the other core writes, or writes bytes that it
/// touches. False in programs of one core.
bool conflicts_with_peer(const StraightLine& line, const StraightOperand& operand);
/// Whether any operand of the instance does; false for meetings.
bool conflicts_with_peer(const StraightLine& line, const StraightInstruction& instance);

/// How the meetings of a line order its instances: an access that conflicts with the other core
/// stays between the two meetings that it is between. Edges between positions in the line.
std::vector<Edge> meeting_edges(const StraightLine& line);
/// Whether both instances of such an edge touch the same bytes in HBM, so that one waits for the
/// other in any case: the tensor that the cores meet on.
bool follows_from_operands(const StraightLine& line, const Edge& edge);

}  // namespace neuron_sim
