#include "csrc/tally/running_operator.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace neuron_sim {
namespace {

struct Running {
  const at::RecordFunction* function;
  const char* name;
};

thread_local std::vector<Running> running;  // innermost last

/// The name of a call, kept for ever: that of a range ends with it.
const char* lasting_name(const char* name) {
  thread_local auto* const names = new std::unordered_set<std::string>;
  thread_local std::string key;  // with room for long names
  key = name;
  return names->insert(key).first->c_str();
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  running.push_back({&function, lasting_name(function.name())});
  return nullptr;
}

/// A call may begin on one thread and end on another.
void end(const at::RecordFunction& function, at::ObserverContext*) {
  const auto began = std::find_if(running.rbegin(), running.rend(),
                                  [&](const Running& call) { return call.function == &function; });
  if (began != running.rend()) running.erase(std::prev(began.base()), running.end());
}

}  // namespace

void name_running_operators(bool wanted) {
  static auto* const mutex = new std::mutex;
  static std::optional<at::CallbackHandle> callback;
  const std::lock_guard lock(*mutex);
  if (wanted == callback.has_value()) return;
  if (wanted) {
    callback = at::addGlobalCallback(
        at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
  } else {
    at::removeCallback(*callback);
    callback.reset();
  }
}

const char* running_operator() { return running.empty() ? nullptr : running.back().name; }

}  // namespace neuron_sim
