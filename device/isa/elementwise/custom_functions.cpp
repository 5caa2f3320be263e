#include "device/isa/elementwise/custom_functions.h"

#include <deque>
#include <map>
#include <mutex>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, CustomFunction> functions;
  std::map<std::string, int64_t> numbers;
  std::deque<std::string> texts;  // by number; a deque never moves its elements
};

Registry& registry() {
  static Registry registry;
  return registry;
}

void check_count(const std::string& name, const char* what, int count, int least) {
  if (count >= least && count <= kMaximumCustomOperands) return;
  fail(text("custom function '", name, "' has ", count, " ", what, "; 'builtin_custom_op' allows ",
            least, " to ", kMaximumCustomOperands, "."));
}

}  // namespace

void register_custom_function(const std::string& name, CustomFunction function) {
  check_count(name, "sources", function.sources, 0);
  check_count(name, "destinations", function.destinations, 1);
  if (!function.run) {
    fail(text("custom function '", name, "' has no 'run' to call for 'builtin_custom_op'."));
  }
  if (!(function.cycles_per_element >= 0)) {
    fail(text("cycles_per_element ", function.cycles_per_element, " of custom function '", name,
              "' must not be negative."));
  }
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  if (!known.functions.emplace(name, std::move(function)).second) {
    fail(text("custom function '", name, "' is registered already."));
  }
}

const CustomFunction* find_custom_function(const std::string& name) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.functions.find(name);
  return found == known.functions.end() ? nullptr : &found->second;
}

int64_t number_of_text(const std::string& text) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto next = static_cast<int64_t>(known.texts.size());
  const auto [entry, added] = known.numbers.emplace(text, next);
  if (added) known.texts.push_back(text);
  return entry->second;
}

const std::string& text_of_number(int64_t number) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  return known.texts.at(static_cast<size_t>(number));
}

}  // namespace neuron_sim
