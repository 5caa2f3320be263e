#pragma once
// Which matrix products continue a sum in PSUM and which begin one: accumulate=None of the NKI API.

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "device/instruction/instruction_type.h"
#include "device/operand/region.h"

namespace neuron_sim {

/// Follows the matrix products of a program in the order they are emitted. The first product that
/// writes to a location of a PSUM tile overwrites, later ones add ("auto-detect based on whether
/// this PSUM location was previously written", nki.isa.nc_matmul). A tile is new when it is
/// allocated; writes of other instructions do not count.
class AccumulationGroups {
 public:
  /// A PSUM tile, or the first tile of a ring, was allocated inside `depth` open loops.
  void allocated(TileId tile, size_t depth) { tiles_[tile] = {depth, {}}; }

  /// Resolves Accumulate::kAuto of a draft inside these open loops (indices, outermost first).
  /// KernelError when it would change from one iteration to the next, or when only a part of the
  /// destination was written.
  void settle(Draft& draft, const std::vector<uint32_t>& loops) const;
  /// Records that the draft was appended: a later product may continue it.
  void note(const Draft& draft, const std::vector<uint32_t>& loops);
  /// Records a product into `dst`; always true.
  bool note(const View& dst, const std::vector<uint32_t>& loops);
  /// Whether accumulate=None of a product into `dst` means `mode`; if so, records it.
  bool repeats(Accumulate mode, const View& dst, const std::vector<uint32_t>& loops);

  /// Index of the attribute of kind kAccumulate, or -1 if the instruction has no such attribute.
  static int attribute_of(const InstructionType& type);
  /// Index of the operand that such an instruction accumulates into.
  static size_t destination_of(const InstructionType& type, int attribute);

 private:
  struct Written {
    Region region;
    Affine partition, offset, ring_index;
    std::vector<uint32_t> loops;
  };
  struct PsumTile {
    size_t depth = 0;
    std::vector<Written> written;
  };
  static bool moves_alike(const Written& before, const View& dst,
                          const std::vector<uint32_t>& loops);
  /// What accumulate=None means, or why it means nothing.
  struct Mode {
    Accumulate mode = Accumulate::kAuto;
    std::string_view objection;
  };
  Mode mode_of(const View& dst, const std::vector<uint32_t>& loops) const;
  std::map<TileId, PsumTile>::const_iterator find(TileId tile) const;

  std::map<TileId, PsumTile> tiles_;
};

}  // namespace neuron_sim
