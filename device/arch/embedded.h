#pragma once
// The architecture files inside the library, so that it needs no file at run time. Defined in a
// source that the build generates from device/arch/*.toml.

namespace neuron_sim {

/// One architecture file.
struct EmbeddedFile {
  const char* name;  ///< file stem, "trn2"
  const char* text;  ///< the TOML text, null-terminated
};

/// kEmbeddedArchitectureCount entries, sorted by path, then one of null pointers.
extern const EmbeddedFile kEmbeddedArchitectures[];
extern const int kEmbeddedArchitectureCount;

}  // namespace neuron_sim
