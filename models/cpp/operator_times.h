#pragma once
// An account of simulated time by operator, for programs that run other people's models.

#include <ATen/record_function.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "csrc/neuron_sim.h"

namespace operator_times {

/// Calls of one operator that took simulated time, and that time, including fallback copies.
struct OperatorTime {
  std::string name;
  int64_t calls = 0;
  double microseconds = 0;
};

/// While it lives, counts the operators that this process runs (backward has a separate thread)
/// and the time that each adds to the clock of `device`. Operators inside others count for the
/// outermost one of their thread. One at a time.
class Account {
 public:
  explicit Account(int device) : device_(device) {
    current() = this;
    at::RecordFunctionCallback callback(begin, end);
    callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
    handle_ = at::addGlobalCallback(std::move(callback));
  }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account() {
    at::removeCallback(handle_);
    current() = nullptr;
  }

  /// The operators, the longest first; equal times by name.
  std::vector<OperatorTime> longest() const {
    std::vector<OperatorTime> sorted;
    for (const auto& [name, time] : times_) sorted.push_back(time);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.microseconds > b.microseconds; });
    return sorted;
  }

  /// A table of them.
  void print(std::ostream& out) const {
    for (const OperatorTime& one : longest()) {
      char line[160];
      std::snprintf(line, sizeof line, "  %-44s %6lld calls %12.2f us\n", one.name.c_str(),
                    static_cast<long long>(one.calls), one.microseconds);
      out << line;
    }
  }

 private:
  struct Context : at::ObserverContext {
    double start = 0;
  };

  static Account*& current() {
    static Account* account = nullptr;
    return account;
  }
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
  double now() const { return neuron_sim::simulated_time(device_).microseconds(); }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
    auto context = std::make_unique<Context>();
    if (depth()++ == 0) context->start = current()->now();
    return context;
  }
  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (--depth() > 0) return;
    const double took = current()->now() - static_cast<Context*>(context)->start;
    if (took > 0) current()->add(function.name(), took);
  }
  void add(const char* name, double microseconds) {
    const std::lock_guard lock(mutex_);
    OperatorTime& time = times_[name];
    time.name = name;
    ++time.calls;
    time.microseconds += microseconds;
  }

  int device_;
  std::mutex mutex_;
  at::CallbackHandle handle_{};
  std::map<std::string, OperatorTime> times_;
};

}  // namespace operator_times
