#pragma once
// One architecture file as written: what parsing and the schema check leave. Internal to
// device/arch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// A value alone, which changes a fact of the base.
struct Override {
  std::string name;        ///< the key of a fact, or a group of them (overrides.h)
  double number = 0;       ///< the new value, or the factor on the base's; flags are 0 or 1
  bool is_factor = false;  ///< written "2x"
  bool is_flag = false;    ///< written true or false
};

/// The contents of one file; a file with a base lists only what differs.
struct Document {
  std::optional<std::string> base;  ///< a built-in architecture or a sibling .toml file
  std::optional<std::string> name;
  std::optional<std::string> neuron_core;
  std::optional<int64_t> generation;
  std::map<std::string, Fact> facts;  ///< by dotted key
  std::vector<Override> overrides;    ///< of facts of the base, by name
};

/// Parses TOML and checks every key, type, unit, range and certainty in it, but not that all keys
/// are there. `file` names the text in messages. KernelError names file, key, value and what is
/// allowed.
Document parse_document(std::string_view toml, const std::string& file);

}  // namespace neuron_sim
