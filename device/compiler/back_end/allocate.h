#pragma once
// Allocation of versions on chip: SBUF upwards without reuse while it lasts, PSUM in whole banks.
//
// Known (addresses of the four public attention traces, neuronx-cc 2.23): every tile instance in
// SBUF has its own address; every tile in PSUM occupies a whole bank, and the bank that was
// allocated longest ago is taken next. In a full SBUF the space freed first is reused first, as in
// the compiled programs of a convolution on trn1 (sahiljain01/asst4-trainium at bc167552,
// part2/file_pool_1_float32.neff: loads take 28 places in turn). Which sizes share space is not
// known.

#include <array>
#include <limits>

#include "device/compiler/line/straight_line.h"
#include "device/memory/slot_allocator.h"

namespace neuron_sim {

/// First and last instance that touch each tile.
std::vector<Lifetime> lifetimes(const StraightLine& line);

/// Assigns addresses to all SBUF tiles that are not `placed`, in the order of their first
/// instances. Space is reused when SBUF is full, in the order in which it was freed.
/// `loads_in_time`: a tile that a load fills holds its place from where that load is issued
/// (IssuePositions), at the earliest after the last store to the tensor, rather than from the
/// load's own position in program order.
/// Returns false, and changes nothing, when they do not fit.
bool allocate_sbuf(StraightLine& line, SbufReuse reuse = SbufReuse::kSameSize,
                   bool loads_in_time = false);

/// Allocates SBUF for programs with tiles that take up much of it, for which allocate_sbuf may find
/// no contiguous space: large tiles are placed first, then the others, in the order of their first
/// instances, in the remaining space that was freed first. What counts as large shrinks until all
/// fit. Not known of the vendor's compiler.
bool rotate_sbuf(StraightLine& line);

/// Banks of PSUM over time: their holders and when they were last given away.
class PsumBanks {
 public:
  /// All banks but those that `placed` tiles touch.
  explicit PsumBanks(const StraightLine& line);

  /// Banks that are not taken.
  int64_t free_count() const;
  /// Banks that a tile occupies.
  int64_t needed(const Tile& tile) const;
  /// Earliest time at which `count` adjacent banks are free; kNever while their holders' ends are
  /// not known.
  int64_t earliest(int64_t count) const;
  /// Takes `count` adjacent banks that are free at `time`, preferably those given away longest ago;
  /// returns their address. They stay taken until release().
  int64_t take(int64_t count, int64_t time);
  /// The tile at that address is not used from `time` on.
  void release(int64_t address, int64_t count, int64_t time);

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

 private:
  struct Bank {
    int64_t free_at = 0;  ///< kNever while taken
    int64_t taken = -1;   ///< number of the allocation
  };
  int64_t free_at(size_t first, int64_t count) const;

  std::vector<Bank> banks_;
  int64_t bank_bytes_;
  int64_t allocations_ = 0;
};

/// Assigns banks to all PSUM tiles that are not `placed`, in program order. Returns false, and
/// changes nothing, when they do not fit.
bool allocate_psum(StraightLine& line);

}  // namespace neuron_sim
