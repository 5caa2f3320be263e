#pragma once
// One architecture file as written: what parsing and the schema check leave. Internal to
// device/arch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// The contents of one file; a file with a base lists only what differs.
struct Document {
  std::optional<std::string> base;  ///< a built-in architecture or a sibling .toml file
  std::optional<std::string> name;
  std::optional<std::string> neuron_core;
  std::optional<int64_t> generation;
  std::map<std::string, Fact> facts;  ///< by dotted key
};

/// Parses TOML and checks every key, type, unit, range and certainty in it, but not that all keys
/// are there. `file` names the text in messages. KernelError names file, key, value and what is
/// allowed.
Document parse_document(std::string_view toml, const std::string& file);

}  // namespace neuron_sim
