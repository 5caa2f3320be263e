#pragma once
// How far the low-precision tiles of a run are from the same program in fp32.

#include <map>
#include <vector>

#include "device/check/finding.h"
#include "device/execute/run_observer.h"
#include "device/memory/core_memory.h"

namespace neuron_sim {

/// Computes every instance a second time on fp32 copies of the tiles and tensors, and keeps the
/// largest relative error of what it wrote to each low-precision tile: |value - exact| over the
/// largest |exact| of the same write. Instructions that work on bits, packed dtypes, random numbers
/// or registers, and tiles that are used under several dtypes or share bytes by hand, take their
/// values over from the run itself.
class PrecisionLoss : public RunObserver {
 public:
  PrecisionLoss(const Program& program, std::span<CoreMemory* const> memories);

  void starts(const ObservedInstance& instance) override { instance_ = instance; }
  void before(std::span<const Access> operands) override;
  void after(const ObservedInstance& instance, std::span<const Access> operands,
             const InstanceFacts& facts) override;

  /// One note per low-precision tile label that lost anything, the worst first.
  std::vector<Finding> take();

 private:
  /// fp32 (of other dtypes: the same) elements of a tile, dense.
  struct Copy {
    std::vector<std::byte> bytes;
    int64_t pitch = 0;  ///< from partition to partition; 0 in HBM
  };
  struct Worst {
    double error = 0;
    uint32_t instruction = 0;
    size_t operand = 0;
    TileId tile = kNoTile;
    std::vector<int64_t> index;
    int64_t partition = 0;
  };

  static bool can_compute(const Program& program, const Instruction& instruction);
  bool has_copy(TileId tile) const { return !mixed_[static_cast<size_t>(tile)]; }
  Copy& copy_of(size_t operand, const Access& real);
  Access shadow_of(size_t operand, const Access& real);
  void take_over(size_t operand, const Access& real);
  void compare(const ObservedInstance& instance, size_t operand, const Access& real);

  const Program& program_;
  std::span<CoreMemory* const> memories_;
  std::vector<size_t> depths_;
  std::vector<bool> computable_;  // per instruction
  std::vector<bool> mixed_;       // per tile: no copy is kept
  std::vector<Copy> copies_;      // per tile, made when first used
  ObservedInstance instance_;
  bool computed_ = false;               // the current instance, on the copies
  std::map<std::string, Worst> worst_;  // by label
};

}  // namespace neuron_sim
