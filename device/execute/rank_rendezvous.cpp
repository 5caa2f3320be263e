#include "device/execute/rank_rendezvous.h"

#include <algorithm>
#include <string>

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/isa/dma/collective.h"

namespace neuron_sim {
namespace {

const ReplicaGroups& groups_of(const Program& program, const Instruction& instruction) {
  const int64_t index = program.attributes_of(instruction)[collective_attribute::kGroups].integer();
  return *program.replica_groups[static_cast<size_t>(index)];
}

std::string line_of(const Program& program, const Instruction& instruction) {
  if (instruction.source_line < 0) return "";
  return "\n  at " + program.source_lines[static_cast<size_t>(instruction.source_line)];
}

/// `float32 [128, 4]`
std::string describe(const Access& access) {
  std::string result = text(name(access.dtype), " [", access.partitions);
  for (int i = 0; i < access.rank; ++i) {
    result += text(", ", access.free[static_cast<size_t>(i)].size);
  }
  return result + "]";
}

bool same_size(const Access& a, const Access& b) {
  return a.present() == b.present() && a.dtype == b.dtype && a.partitions == b.partitions &&
         a.elements() == b.elements();
}

}  // namespace

RankRendezvous::RankRendezvous(int64_t ranks) : states_(static_cast<size_t>(ranks)) {
  require(ranks > 0, "at least one rank runs");
}

std::string RankRendezvous::where(const State& state) const {
  return text("core ", int{state.instruction->core}, " of rank ", state.member.rank, " at '",
              state.instruction->type->name, "' of replica group ",
              groups_of(*state.program, *state.instruction).describe());
}

void RankRendezvous::meet(int64_t rank, const Program& program, const Instruction& instruction,
                          std::span<const Access> operands) {
  const ReplicaGroups& groups = groups_of(program, instruction);
  if (groups.largest_rank() >= ranks()) {
    fail(text("'", instruction.type->name, "' of kernel '", program.kernel, "': rank ",
              groups.largest_rank(), " of replica group ", groups.describe(),
              " does not exist; the kernel runs on ", ranks(), ranks() == 1 ? " rank." : " ranks.",
              line_of(program, instruction)),
         ErrorKind::kIndex);
  }
  const auto place = groups.find(rank);
  if (!place) return;
  std::unique_lock lock(mutex_);
  State& own = state(rank);
  own.program = &program;
  own.instruction = &instruction;
  own.member.rank = rank;
  std::copy(operands.begin(), operands.end(), own.member.operands.begin());
  own.waiting = true;
  try {
    if (!failed_) try_exchange(*place->group);
    if (!failed_ && own.waiting) check_deadlock();
  } catch (...) {
    own.error = std::current_exception();
    failed_ = true;
  }
  if (failed_) changed_.notify_all();
  try {
    interruptible_wait(changed_, lock, [&] { return failed_ || !own.waiting; });
  } catch (...) {
    own.waiting = false;  // so that this error is the rank's
    throw;
  }
  if (!own.waiting) return;
  if (own.error) std::rethrow_exception(own.error);
  fail(text(where(own), " waits for a rank that has failed."), ErrorKind::kRuntime);
}

/// Moves the bytes of a group whose ranks are all at the same collective.
void RankRendezvous::try_exchange(const std::vector<int64_t>& group) {
  const State& first = state(group[0]);
  std::vector<CollectiveMember> members;
  for (const int64_t rank : group) {
    if (!state(rank).waiting || !mismatch(first, state(rank)).empty()) return;
    members.push_back(state(rank).member);
  }
  exchange(*first.instruction->type, first.program->attributes_of(*first.instruction), members);
  for (const int64_t rank : group) state(rank).waiting = false;
  changed_.notify_all();
}

std::string RankRendezvous::mismatch(const State& first, const State& second) const {
  const int64_t rank = first.member.rank, other = second.member.rank;
  const auto own = groups_of(*first.program, *first.instruction).find(rank);
  const auto theirs = groups_of(*second.program, *second.instruction).find(rank);
  const bool same = first.instruction->type == second.instruction->type &&
                    first.instruction->core == second.instruction->core && theirs &&
                    *theirs->group == *own->group;
  if (!same) {
    return text("kernel '", first.program->kernel, "' deadlocks: ", where(first), ", ",
                where(second), ".");
  }
  const std::string what =
      text("'", first.instruction->type->name, "' of kernel '", first.program->kernel, "'");
  const auto a = first.program->attributes_of(*first.instruction);
  const auto b = second.program->attributes_of(*second.instruction);
  for (size_t i = 1; i < a.size(); ++i) {  // not the groups' index
    if (a[i].bits == b[i].bits) continue;
    return text(what, " has another ", first.instruction->type->attributes[i].name, " on rank ",
                rank, " than on rank ", other, ".");
  }
  for (const size_t operand :
       {size_t{collective_operand::kDst}, size_t{collective_operand::kSrc}}) {
    const Access& mine = first.member.operands[operand];
    const Access& access = second.member.operands[operand];
    if (same_size(mine, access)) continue;
    return text(what, ": ", first.instruction->type->operands[operand].name, " is ", describe(mine),
                " on rank ", rank, ", but ", describe(access), " on rank ", other, ".");
  }
  return "";
}

/// Called whenever a rank starts to wait or ends: when all do, no rank is left to come. The
/// sentence does not depend on which rank came last.
void RankRendezvous::check_deadlock() {
  const State* waiting = nullptr;
  for (const State& each : states_) {
    if (!each.waiting && !each.ended) return;
    if (each.waiting && waiting == nullptr) waiting = &each;
  }
  if (waiting == nullptr) return;
  const std::string line = line_of(*waiting->program, *waiting->instruction);
  const auto place = groups_of(*waiting->program, *waiting->instruction).find(waiting->member.rank);
  std::vector<int64_t> group = *place->group;
  std::sort(group.begin(), group.end());
  for (const int64_t rank : group) {
    const State& other = state(rank);
    if (other.ended) {
      fail(text("kernel '", waiting->program->kernel, "' deadlocks: ", where(*waiting),
                " waits for rank ", rank, ", which has ended.", line),
           ErrorKind::kRuntime);
    }
    const std::string reason = mismatch(*waiting, other);
    if (reason.empty()) continue;
    fail(text(reason, line, line_of(*other.program, *other.instruction)), ErrorKind::kRuntime);
  }
  require(false, "a group whose ranks have all arrived does not wait");
}

void RankRendezvous::leave(int64_t rank) {
  const std::scoped_lock lock(mutex_);
  state(rank).ended = true;
  if (failed_) return;
  try {
    check_deadlock();
  } catch (...) {
    state(rank).error = std::current_exception();
    failed_ = true;
    changed_.notify_all();
  }
}

void RankRendezvous::abandon(int64_t rank) {
  const std::scoped_lock lock(mutex_);
  if (!state(rank).waiting && !state(rank).error) state(rank).error = std::current_exception();
  state(rank).ended = true;
  failed_ = true;
  changed_.notify_all();
}

void RankRendezvous::check() const {
  for (const State& each : states_) {
    if (each.error) std::rethrow_exception(each.error);
  }
}

}  // namespace neuron_sim
