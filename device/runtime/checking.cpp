#include "device/runtime/checking.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "device/check/checked_run.h"

namespace neuron_sim {
namespace {

// Findings kept between two calls of take_findings().
constexpr size_t kMost = 1000;

/// A kernel's findings without data.
struct Checked {
  std::vector<Finding> findings;
  bool reported = false;
};

struct State {
  std::atomic<bool> wanted{false};
  std::mutex mutex;
  std::map<std::weak_ptr<const Kernel>, Checked, std::owner_less<>> kernels;
  std::vector<Finding> found;

  /// Findings without data, looked for once per kernel, not under the lock: it takes a while.
  void keep_static(const std::shared_ptr<const Kernel>& kernel) {
    std::unique_lock lock(mutex);
    auto entry = kernels.find(kernel);
    if (entry == kernels.end()) {
      lock.unlock();
      std::vector<Finding> fresh = findings(kernel->computed());
      lock.lock();
      std::erase_if(kernels, [](const auto& each) { return each.first.expired(); });
      entry = kernels.try_emplace(kernel, Checked{std::move(fresh)}).first;
    }
    if (!entry->second.reported) keep(entry->second.findings);
    entry->second.reported = true;
  }
  void keep(const std::vector<Finding>& more) {
    for (const Finding& finding : more) {
      if (found.size() < kMost) found.push_back(finding);
    }
  }
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

}  // namespace

void set_checking(bool wanted) { state().wanted.store(wanted); }
bool checking() { return state().wanted.load(std::memory_order_relaxed); }

ControlLog checked_launch(const std::shared_ptr<const Kernel>& kernel, const Program& program,
                          std::span<CoreMemory* const> memories,
                          std::span<std::byte* const> arguments, ThreadPool& pool) {
  State& own = state();
  if (program.uses_registers) {
    std::vector<Finding> found;
    const auto keep = [&] {
      const std::lock_guard lock(own.mutex);
      own.keep(found);
    };
    try {
      ControlLog log =
          checked_run(program, kernel->plan(), {memories, arguments}, pool, {}, {}, found);
      keep();
      return log;
    } catch (...) {
      keep();
      throw;
    }
  }
  own.keep_static(kernel);
  return execute(program, kernel->plan(), memories, arguments, pool);
}

std::vector<Finding> take_findings() {
  const std::lock_guard lock(state().mutex);
  for (auto& [kernel, checked] : state().kernels) checked.reported = false;
  return std::exchange(state().found, {});
}

}  // namespace neuron_sim
