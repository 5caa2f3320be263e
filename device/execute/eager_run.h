#pragma once
// Runs the instructions of a program while it is built, so that its tiles have values meanwhile.

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "device/execute/rank_rendezvous.h"
#include "device/memory/core_memory.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Runs instructions of one core in the order in which they are appended. Each tile without an
/// address gets its own memory, beyond the capacity of the chip, for as long as this object lives;
/// tiles placed by hand keep their addresses and may overlap. Fresh memory reads as uninitialised.
/// Results equal those of execute().
class EagerRun {
 public:
  explicit EagerRun(std::shared_ptr<const Program> program);

  /// Host memory of an argument, which outlives this object. Arguments without are zero at first.
  void bind(size_t argument, std::byte* data);
  /// Runs the instructions appended since the last call. KernelError as of execute(), and for
  /// instructions that need registers, loops on chip or another core.
  void advance();
  /// The bytes of a tile, partition after partition, or of an HBM tensor.
  std::vector<std::byte> contents(TileId tile);

 private:
  /// The addresses of SBUF or of PSUM.
  struct Space {
    int64_t step = 1;                   ///< bytes that addresses are multiples of
    int64_t end = 0;                    ///< first byte that no tile has
    std::map<int64_t, int64_t> placed;  ///< bytes of tiles placed by hand: first, end
  };
  Space& space(MemoryKind memory) { return memory == MemoryKind::kPsum ? psum_ : sbuf_; }
  void adopt();
  void give_bytes(size_t tile);
  void grow();
  void fill(size_t tile);
  void check(const Instruction& instruction) const;
  void run(const Instruction& instruction);
  std::byte* tensor(const Tile& tile);

  std::shared_ptr<const Program> program_;
  Space sbuf_, psum_;
  int64_t sbuf_size_ = 0, psum_size_ = 0;  ///< bytes of a partition of memory_
  std::unique_ptr<CoreMemory> memory_;
  std::vector<int64_t> bases_;                        ///< per tile: bytes to add to its addresses
  std::map<size_t, std::byte*> bound_;                ///< by argument
  std::map<TileId, std::vector<std::byte>> tensors_;  ///< of the other HBM tensors
  std::vector<std::byte*> addresses_;  ///< of every argument, then of every scratch tensor
  RankRendezvous alone_{1};
  size_t done_ = 0;  ///< instructions
};

}  // namespace neuron_sim
