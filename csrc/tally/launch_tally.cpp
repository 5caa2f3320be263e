#include "csrc/tally/launch_tally.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "csrc/tally/running_operator.h"

namespace neuron_sim {
namespace {

/// Programs whose sums a tally has apart; those that it does not keep are then only in the sums of
/// their operators.
constexpr size_t kMostKnown = 4096;
/// Launches of known programs after which operators are no longer named: a program belongs to one.
constexpr int64_t kLearning = 256;

class Tally {
 public:
  explicit Tally(bool keeps_programs) : keeps_(keeps_programs) {}

  /// Whether the program is new.
  bool add(const LaunchRecord& launch, const char* op) {
    const Picoseconds latency = launch.span.end - launch.span.start;
    const auto [known, is_new] = known_program(launch.kernel);
    if (known->bound == nullptr || known->body != launch.timing.body) {
      known->body = launch.timing.body;
      known->bound = &sums_.bounds[launch.timing.bottleneck()];
    }
    if (known->op == nullptr) known->op = op;
    *known->bound += latency;
    sums_.body += launch.timing.body;
    for (LaunchSum* sum : {&sums_.all, &known->sum}) *sum = *sum + LaunchSum{1, latency};
    return is_new;
  }

  LaunchTally sums() const {
    LaunchTally result = sums_;
    for (const auto& [address, known] : known_) {
      known.add_to(result.operators);
      if (!known.kept) continue;
      result.kept.push_back({known.kept, known.op ? known.op : "", known.number, known.sum});
    }
    std::sort(result.kept.begin(), result.kept.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    return result;
  }

 private:
  struct Known {
    std::weak_ptr<const Kernel> kernel;  ///< an address may be used again
    std::shared_ptr<const Kernel> kept;
    std::string name;
    int64_t number = 0;
    const char* op = nullptr;
    LaunchSum sum{};
    Picoseconds body{};  ///< of the last launch
    Picoseconds* bound = nullptr;

    void add_to(std::map<std::string, LaunchSum>& operators) const {
      LaunchSum& total = operators[op == nullptr ? name : op];
      total = total + sum;
    }
  };

  std::pair<Known*, bool> known_program(const std::shared_ptr<const Kernel>& kernel) {
    const auto found = known_.find(kernel.get());
    if (found != known_.end()) {
      Known& known = found->second;
      if (!known.kernel.owner_before(kernel) && !kernel.owner_before(known.kernel)) {
        return {&known, false};
      }
      forget(found);
    } else if (known_.size() >= kMostKnown) {
      for (auto each = known_.begin(); each != known_.end();) {
        each = each->second.kept ? std::next(each) : forget(each);
      }
    }
    const bool keeps = keeps_ && sums_.programs < kTalliedPrograms;
    Known known{kernel, keeps ? kernel : nullptr, kernel->program().kernel, sums_.programs++};
    return {&known_.emplace(kernel.get(), std::move(known)).first->second, true};
  }

  using Programs = std::unordered_map<const Kernel*, Known>;
  Programs::iterator forget(Programs::iterator program) {
    program->second.add_to(sums_.operators);
    return known_.erase(program);
  }

  const bool keeps_;
  LaunchTally sums_;
  Programs known_;
};

/// Never destroyed: threads may launch until the process ends.
struct Tallies {
  std::mutex mutex;
  std::atomic<bool> any = false;
  std::atomic<int64_t> since_new = 0;  ///< launches since that of a new program
  TallyId next = 1;
  std::map<TallyId, Tally> active;
};

Tallies& tallies() {
  static auto* instance = new Tallies;
  return *instance;
}

}  // namespace

bool tallies_launches() { return tallies().any.load(std::memory_order_acquire); }

void prepare_tallies() {
  if (tallies_launches() && tallies().since_new < kLearning) name_running_operators(true);
}

void tally_launch(const LaunchRecord& launch) {
  const char* const op = running_operator();
  const std::lock_guard lock(tallies().mutex);
  bool is_new = false;
  for (auto& [id, tally] : tallies().active) is_new |= tally.add(launch, op);
  if (is_new) {
    tallies().since_new = 0;
    name_running_operators(true);
  } else if (++tallies().since_new == kLearning) {
    name_running_operators(false);
  }
}

TallyId add_tally(bool keeps_programs) {
  const std::lock_guard lock(tallies().mutex);
  const TallyId id = tallies().next++;
  tallies().active.try_emplace(id, keeps_programs);
  tallies().since_new = 0;
  tallies().any.store(true, std::memory_order_release);
  return id;
}

void remove_tally(TallyId tally) {
  const std::lock_guard lock(tallies().mutex);
  tallies().active.erase(tally);
  if (!tallies().active.empty()) return;
  tallies().any.store(false, std::memory_order_release);
  name_running_operators(false);
}

LaunchTally read_tally(TallyId tally) {
  const std::lock_guard lock(tallies().mutex);
  const auto position = tallies().active.find(tally);
  return position == tallies().active.end() ? LaunchTally{} : position->second.sums();
}

}  // namespace neuron_sim
