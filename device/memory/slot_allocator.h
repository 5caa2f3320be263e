#pragma once
// Bytes of one partition as slots over time: for placement of tiles whose lifetimes are known.

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace neuron_sim {

/// First and last position in the program order that touch a tile; `first` > `last` for tiles that
/// nothing touches.
struct Lifetime {
  uint32_t first = std::numeric_limits<uint32_t>::max();
  uint32_t last = 0;
  bool used() const { return first <= last; }
};

/// Whose space a tile takes when the memory is full.
enum class SbufReuse : uint8_t {
  kSameSize,     ///< of tiles of its size, else of neighbours that together are large enough
  kLargerSpace,  ///< while there are few of its size, of larger ones too
};

/// Slots side by side; a slot is free after the last position of the tile that holds it. Tiles
/// are placed in the order of their first positions: in space that nothing used yet while there is
/// any, then in the space that was freed first.
class SlotAllocator {
 public:
  /// Bytes that tiles take up: a multiple of 64, as the Builder aligns them.
  static int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  /// [0, capacity) but for `taken`: first byte, end.
  SlotAllocator(int64_t capacity, std::map<int64_t, int64_t> taken, SbufReuse reuse)
      : capacity_(capacity), reuse_(reuse), taken_(std::move(taken)) {}

  /// Address for a tile of `bytes` (rounded) that lives over these positions; -1 when there is no
  /// space.
  int64_t place(int64_t bytes, const Lifetime& lifetime);

 private:
  struct Slot {
    int64_t bytes;
    uint32_t last;
  };
  using Slots = std::map<int64_t, Slot>;

  void occupy(int64_t address, int64_t bytes, uint32_t last);
  Slots::iterator drop(Slots::iterator slot);
  int64_t fresh(int64_t bytes);
  int64_t freed(int64_t bytes, uint32_t first);
  bool is_scarce(int64_t bytes);
  int64_t joined(int64_t bytes, uint32_t first);
  int64_t join(Slots::iterator slot, int64_t bytes);

  int64_t capacity_;
  SbufReuse reuse_;
  int64_t top_ = 0;
  std::map<int64_t, int64_t> taken_;
  Slots slots_;                                                        ///< by address
  std::map<int64_t, std::set<std::pair<uint32_t, int64_t>>> by_size_;  ///< last position, address
};

}  // namespace neuron_sim
