#pragma once
// Which passes run and how: one set per published software stack, never one per kernel.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neuron_sim {

/// A switch that a pass reads. The header of the pass states what is known of it and how
/// (statement names, traces, documents).
struct PassSetting {
  const char* name;
  const char* pass;  ///< the pass that reads it; the switch of that name turns it on
  const char* meaning;
};
/// All settings, stated next to the list of the passes (pipeline.cpp).
std::span<const PassSetting> pass_settings();

/// A value for each setting, 0 (off) or 1; 0 where none is given.
class PassSettings {
 public:
  PassSettings() : PassSettings({}) {}
  /// As set() one after the other.
  PassSettings(std::initializer_list<std::pair<std::string_view, int64_t>> values);

  /// The value of a setting that exists.
  int64_t operator[](std::string_view name) const;
  /// Gives a setting the value 0 or 1. KernelError names the setting and, for an unknown one, all
  /// that exist.
  void set(std::string_view name, int64_t value);

  bool operator==(const PassSettings&) const = default;

 private:
  std::vector<int64_t> values_;  // in the order of pass_settings()
};

/// "rename_buffers, schedule": the settings that are not 0; else "none".
std::string describe(const PassSettings& settings);

/// A published software stack: what kernels of public measurements were compiled with.
struct PublishedStack {
  const char* name;      ///< "neuronx-cc trn2 --disable-dge"
  const char* compiler;  ///< versions that it stands for
  const char* source;    ///< what its settings rest on
  PassSettings settings;
};
/// All stacks; "none" is the kernel as written. " direct" ones are for kernels that skip the
/// compiler's middle end (direct allocation, skip_middle_end_transformations).
std::span<const PublishedStack> published_stacks();
/// The stack of that name; KernelError lists all names.
const PublishedStack& published_stack(std::string_view name);

}  // namespace neuron_sim
