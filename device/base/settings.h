#pragma once
// The environment variables of the simulator: the one table, through which they are read.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace neuron_sim {

/// A row of docs/settings.md, which tools/write_settings_docs.py writes from the table.
struct Setting {
  const char* name;
  std::string_view values;   ///< as Markdown
  std::string_view meaning;  ///< as Markdown
};

/// All of them, in the order of the page.
std::span<const Setting> settings();
/// What the environment says now; empty when it says nothing. `name` is in the table. The first
/// call writes unknown_settings() of the environment to stderr.
std::string setting(std::string_view name);
/// A warning that names the variables NEURON_SIM_* that are not in the table, which have no effect;
/// empty when there are none. `environment`: as `environ`.
std::string unknown_settings(const char* const* environment);
/// `value` as a whole number; nullopt unless it is one in lowest..highest.
std::optional<int64_t> whole_number(std::string_view value, int64_t lowest, int64_t highest);

}  // namespace neuron_sim
