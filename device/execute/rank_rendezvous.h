#pragma once
// Where the ranks of a run wait for each other: at their collectives.

#include <array>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/base/condition_variable.h"
#include "device/execute/collective_exchange.h"
#include "device/program/program.h"

namespace neuron_sim {

/// The ranks that run together, each on its own thread. A rank waits at a collective until
/// all ranks of its group are at the same one; the last to come moves the bytes of all.
///
/// KernelError, in all waiting ranks and for whoever calls check(): no rank can continue, because
/// ranks of a group are at different collectives or have ended, or a group names a rank that does
/// not run.
class RankRendezvous {
 public:
  explicit RankRendezvous(int64_t ranks);

  int64_t ranks() const { return static_cast<int64_t>(states_.size()); }

  /// A collective of a rank, with the rank's operands. Returns when it is done.
  void meet(int64_t rank, const Program& program, const Instruction& instruction,
            std::span<const Access> operands);
  /// The rank has no further collectives.
  void leave(int64_t rank);
  /// The rank has failed with the current exception: no rank waits for it any longer.
  void abandon(int64_t rank);
  /// Throws the exception of the smallest rank that failed, if any did.
  void check() const;

 private:
  struct State {
    bool ended = false;
    bool waiting = false;
    const Program* program = nullptr;  // where it waits
    const Instruction* instruction = nullptr;
    CollectiveMember member;
    std::exception_ptr error;
  };
  State& state(int64_t rank) { return states_[static_cast<size_t>(rank)]; }
  void try_exchange(const std::vector<int64_t>& group);
  /// Why the two ranks, of one group, cannot meet where they wait; empty when they can.
  std::string mismatch(const State& first, const State& second) const;
  void check_deadlock();
  std::string where(const State& state) const;

  std::vector<State> states_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool failed_ = false;
};

/// One rank of those that run together.
struct RankMember {
  RankRendezvous* ranks;
  int64_t rank;
};

}  // namespace neuron_sim
