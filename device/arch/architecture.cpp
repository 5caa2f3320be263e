#include "device/arch/architecture.h"

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "device/arch/reader.h"
#include "device/base/errors.h"
#include "device/base/settings.h"

namespace neuron_sim {

namespace {

constexpr const char* kArchitectureVariable = "NEURON_SIM_ARCH";
constexpr const char* kVendorVariable = "NEURON_PLATFORM_TARGET_OVERRIDE";

ArchitectureReader builtin_reader() {
  return ArchitectureReader(
      std::span(kEmbeddedArchitectures, static_cast<size_t>(kEmbeddedArchitectureCount)));
}

/// Equal exactly when two architectures agree in everything a caller can see.
std::string content_of(const Architecture& architecture) {
  std::string content = text(architecture.name, "\n", architecture.neuron_core, "\n",
                             static_cast<long>(architecture.generation), "\n");
  for (const auto& [key, fact] : architecture.facts()) {
    content +=
        text(key, "\t", fact.value, "\t", fact.unit, "\t", fact.source, "\t", fact.certainty, "\n");
  }
  return content;
}

/// All architectures of the process; they live until it ends.
class Registry {
 public:
  const Architecture& intern(Architecture architecture) {
    std::string content = content_of(architecture);
    const std::lock_guard lock(mutex_);
    auto& slot = by_content_[std::move(content)];
    if (!slot) slot = std::make_unique<const Architecture>(std::move(architecture));
    return *slot;
  }

  /// The architecture remembered under `key`, else null.
  const Architecture* find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

  void remember(const std::string& key, const Architecture& architecture) {
    const std::lock_guard lock(mutex_);
    by_key_.emplace(key, &architecture);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const Architecture>> by_content_;
  std::unordered_map<std::string, const Architecture*> by_key_;
};

Registry& registry() {
  // Never destroyed: other threads and static objects may still hold references at exit.
  static Registry& instance = *new Registry;
  return instance;
}

/// A variable and what it names.
struct Choice {
  const char* variable = nullptr;
  std::string value;
};

Choice choice() {
  for (const char* variable : {kArchitectureVariable, kVendorVariable}) {
    std::string value = setting(variable);
    if (!value.empty()) return {variable, std::move(value)};
  }
  return {};
}

const Architecture& load_from_environment(const char* variable, const std::string& value) {
  // Read once per value: this is called often, and a user's file takes a parse.
  const std::string key = text(variable, "=", value);
  if (const Architecture* known = registry().find(key)) return *known;
  try {
    if (variable == kVendorVariable && value.ends_with(".toml")) {
      fail(text("architecture '", value, "' is a file; give a file to ", kArchitectureVariable,
                "."));
    }
    const Architecture& architecture = load_architecture(value);
    registry().remember(key, architecture);
    return architecture;
  } catch (const KernelError& error) {
    fail(text("environment variable ", variable, ": ", error.what()), error.kind());
  }
}

}  // namespace

const Architecture& load_architecture(std::string_view name_or_path) {
  const std::string name = without_alias(name_or_path);
  if (name.ends_with(".toml")) return registry().intern(builtin_reader().read(name));
  if (const Architecture* known = registry().find(name)) return *known;
  const Architecture& architecture = registry().intern(builtin_reader().read(name));
  registry().remember(name, architecture);
  return architecture;
}

std::string environment_architecture() { return choice().value; }

const Architecture& default_architecture() {
  const Choice chosen = choice();
  if (chosen.value.empty()) return load_architecture(kDefaultArchitecture);
  return load_from_environment(chosen.variable, chosen.value);
}

std::vector<std::string> builtin_architectures() { return builtin_reader().names(); }

}  // namespace neuron_sim
