#pragma once
// Which tiles share an access history, of programs and of what is to become one.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// The accesses of a tensor in HBM, as far as they decide whether later ones wait for them.
struct TensorAccesses {
  struct Write {
    Region region;
    bool is_injective = false;
  };
  std::vector<Write> writes;
  bool is_read = false;
  bool meets = false;         ///< a barrier is on it
  bool is_rewritten = false;  ///< some bytes certainly more than once; then `writes` has few

  /// Adds the write of an operand that its loops repeat.
  void add_write(const Operand& operand, std::span<const Repetition> loops);
  /// Whether two accesses may touch the same byte, of which one writes it, or a barrier waits for
  /// the accesses before it, and those after it wait for the barrier.
  bool need_order() const;
};

/// Places on chip in groups whose bytes overlap. Tiles of a compiled program, tens of thousands,
/// share their first bytes with many others: only these are sorted.
class PlaceGroups {
 public:
  /// Adds a tile on chip at that address.
  void add(const Tile& tile, int64_t address);
  /// Numbers the groups from `first`; returns the number after the last one.
  int32_t number(int32_t first);
  /// The group of a tile that was added at that address, once they are numbered.
  int32_t group_of(const Tile& tile, int64_t address) const;

 private:
  std::unordered_map<uint64_t, uint64_t> ends_;  ///< by place; then its group
};

}  // namespace neuron_sim
