#pragma once
// The sums that matrix products form in PSUM: where each begins, continues and is read.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Follows the accumulation groups of a program: a product that overwrites begins a group, later
/// ones that add to the same place continue it. A bank of a partition holds one open group,
/// unless a memset zeroed the bank: products then accumulate onto zeros and groups may interleave,
/// as in the dq_psum of attention_bwd (aws-neuron/nki-library).
class PsumGroups {
 public:
  explicit PsumGroups(const Program& program);

  /// What is wrong with a product that continues or begins a group.
  struct Fault {
    enum class Kind : uint8_t { kInterleaved, kReadBefore, kLost } kind;
    /// The instruction that began another group in the bank, read the group, or wrote what is lost.
    uint32_t other;
  };

  /// The banks that a product writes to, when it writes to more than one.
  std::optional<std::pair<int64_t, int64_t>> crossing(const Region& region) const;
  /// A product writes to `region` of the PSUM of a core, which belongs to a tile.
  std::optional<Fault> product(uint32_t instruction, uint8_t core, TileId tile,
                               const Region& region, bool adds);
  /// Another instruction reads the bytes.
  void read(uint32_t instruction, uint8_t core, const Region& region);
  /// Another instruction writes them: they are no sum any more.
  std::optional<Fault> overwrite(uint8_t core, TileId tile, const Region& region);
  /// A memset zeroed the region.
  void zeroed(uint8_t core, const Region& region);

 private:
  struct Group {
    Region region;
    TileId tile = kNoTile;
    uint32_t last = 0;  ///< the last product
    std::optional<uint32_t> interrupted_by, read_by;
  };
  struct Zeros {
    uint8_t core;
    Region region;
    std::vector<Region> taken;  ///< regions that products have written
  };
  std::vector<Group>& groups(uint8_t core, const Region& region);
  /// Ends the groups that lie in the region. The fault, if any, is that of a sum of the same tile:
  /// one that another tile takes the bytes of has no use.
  static std::optional<Fault> end_groups(std::vector<Group>& open, TileId tile,
                                         const Region& region);
  template <typename Visit>
  void each_bank(uint8_t core, const Region& region, Visit&& visit) {
    const int64_t last = (region.high() - 1) / bank_bytes_;
    for (int64_t bank = region.low / bank_bytes_; bank <= last; ++bank) {
      const auto entry = banks_.find({core, bank});
      if (entry != banks_.end()) visit(entry->second);
    }
  }

  /// Whether a memset zeroed all of the region and no product has written there since. Marks the
  /// region as written.
  bool takes_zeros(uint8_t core, const Region& region);

  int64_t bank_bytes_;
  bool any_bank_;  ///< a product may write to all banks
  std::map<std::pair<uint8_t, int64_t>, std::vector<Group>> banks_;
  std::vector<Zeros> zeros_;
};

}  // namespace neuron_sim
