#pragma once
// Runs one instance: resolves its operands to storage, calls the instruction, keeps the fp32
// copies of low-precision tiles up to date.

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/execute/plan.h"
#include "device/execute/rank_rendezvous.h"
#include "device/execute/run_observer.h"
#include "device/memory/core_memory.h"
#include "device/program/program.h"

namespace neuron_sim {

/// An index or an address in a register that a run found to lie outside of its tensor.
class OutOfBounds : public KernelError {
 public:
  OutOfBounds(const std::string& sentence, size_t operand, int64_t partition)
      : KernelError(sentence, ErrorKind::kIndex), operand_(operand), partition_(partition) {}
  size_t operand() const { return operand_; }       ///< of the instruction
  int64_t partition() const { return partition_; }  ///< of the operand; -1: all of them

 private:
  size_t operand_;
  int64_t partition_;
};

/// Storage and register state of one launch. One per host thread (registers: serial runs only).
class InstanceRunner {
 public:
  /// `memories`: on-chip memory of every core of the program. `arguments`: host address of every
  /// argument, then of every scratch tensor.
  InstanceRunner(const Program& program, std::span<CoreMemory* const> memories,
                 std::span<std::byte* const> arguments);

  /// `locations` has one entry per operand, of the one in its place where `replaced` has one. A
  /// KernelError names the instruction's source line.
  void run(const Instruction& instruction, const Location* locations,
           const ReplacedOperands& replaced = {});
  /// A node of a graph: its instance, or its instances on some partitions after the other
  /// (device/execute/strips.h).
  void run(const InstanceGraph& graph, size_t node);
  /// One direction of an exchange: `target`'s dst becomes `source`'s src.
  void receive(const Instruction& target, const Location* target_locations,
               const Instruction& source, const Location* source_locations);

  /// Registers of the sequencer of an engine of a core.
  RegisterFile& registers(int core, EngineKind engine) {
    if (!registers_) registers_ = std::make_unique<RegisterFiles>();
    return (*registers_)[static_cast<size_t>(core)][static_cast<size_t>(engine)];
  }
  /// Which rank runs the program, and where it meets the others (null: one rank).
  void join(const RankMember& member) { member_ = member; }
  /// Rows that the last indirect instruction moved; -1 when the last one was not indirect.
  int64_t moved_rows() const { return moved_rows_; }
  /// The observer; null for none.
  void observe(RunObserver* observer) { observer_ = observer; }
  /// What the last run() found out, and its operands.
  InstanceFacts facts() const { return {moves_, rows_}; }
  std::span<const Access> operands(const Instruction& instruction) const {
    return {accesses_.data(), instruction.operand_count};
  }
  /// Writes the pattern of uninitialised memory into a tile.
  void fill(const Tile& tile);

 private:
  using RegisterFiles = std::array<std::array<RegisterFile, kEngineCount>, kMaximumCores>;
  std::byte* tensor(const Tile& tile) const;
  void resolve(const Operand& operand, const Location& location, Access& access) const;
  void compute(const Instruction& instruction, const Location* locations,
               const ReplacedOperands& replaced);
  void run_strips(const InstanceGraph& graph, std::span<const PlannedInstance> instances);
  void call(const Instruction& instruction, std::span<const Access> accesses,
            const Access* later = nullptr);
  const ReplicaGroups* groups_of(const Instruction& instruction) const;
  void resolve_rows(const Instruction& instruction, std::span<Access> accesses);
  /// First byte of the operand in its tile, and the one after its last.
  std::pair<int64_t, int64_t> bytes_of(const Operand& operand, const Location& location) const;
  /// Whether an address out of a register is one of the tile; KernelError when it is not, unless
  /// the instruction skips such accesses.
  bool reaches(const Instruction& instruction, size_t operand, const Location& location) const;
  bool skips_out_of_bounds(const Instruction& instruction) const;
  /// What a virtual register got is in every sequencer.
  void share_register(const Instruction& instruction);
  void widen(const Access& access);
  /// Brings the fp32 copies of what the instruction wrote up to date.
  void widen_results(const Instruction& instruction);

  const Program& program_;
  std::array<CoreMemory*, kMaximumCores> memories_{};
  std::span<std::byte* const> arguments_;
  std::array<Access, kMaximumOperands> accesses_{};
  std::unique_ptr<RegisterFiles> registers_;  ///< made at the first use: most programs have none
  RankMember member_{nullptr, 0};
  std::vector<Access> whole_;  ///< operands of the instances that run in strips
  std::vector<int32_t> rows_;
  int64_t moved_rows_ = -1;
  bool moves_ = true;
  RunObserver* observer_ = nullptr;
};

}  // namespace neuron_sim
