#include "device/compiler/settings/pass_settings.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Index of a setting; the number of settings when there is none of that name.
size_t index_of(std::string_view name) {
  const std::span<const PassSetting> all = pass_settings();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const PassSetting& each) { return name == each.name; });
  return static_cast<size_t>(found - all.begin());
}

/// The back end of every stack: sums in PSUM, renaming, queues, list scheduling.
PassSettings back_end(bool disable_dge) {
  PassSettings settings;
  for (const char* name : {"rename_buffers", "assign_queues", "schedule", "choose_copy_engines",
                           "keep_groups_together", "hoist_loads"}) {
    settings.set(name, 1);
  }
  settings.set("disable_dge", disable_dge ? 1 : 0);
  return settings;
}

/// The back end after the middle end.
PassSettings whole(bool disable_dge) {
  PassSettings settings = back_end(disable_dge);
  for (const char* name : {"reuse_loads", "hoist_invariants", "fold_zeros", "eliminate_copies",
                           "elide_psum_copies", "elide_rounding_copies", "batch_narrow_operations",
                           "batch_transposes", "merge_dma", "merge_input_loads"}) {
    settings.set(name, 1);
  }
  return settings;
}

/// Generation 2: that loads come first is known of generation 3 alone, from traces of descriptors
/// that GpSimd generates; here the compiler prepares them.
PassSettings without_hoisted_loads(PassSettings settings) {
  settings.set("hoist_loads", 0);
  return settings;
}

/// Generation 2: the compiled programs that show its activations and the engine of its copies out
/// of PSUM are of this generation. They show gathered operands, too, and a profile shows results in
/// PSUM, but fewer than three measured kernels depend on either, so that no pass does so
/// (docs/choices.md names what determines each rule).
PassSettings whole_of_generation_2() {
  PassSettings settings = without_hoisted_loads(whole(true));
  settings.set("select_activations", 1);
  settings.set("copy_psum_on_scalar", 1);
  return settings;
}

constexpr const char* kTraces = "order, addresses and queues of the four public attention traces";
constexpr const char* kFlag =
    "as neuronx-cc trn2; with --disable-dge no trace is public, the queues are assumed";
constexpr const char* kOlder =
    "as neuronx-cc trn2 without descriptor generation, which the generation lacks: assumed";

std::vector<PublishedStack> make_stacks() {
  return {
      {"none", "-", "the kernel as it is written", PassSettings{}},
      {"neuronx-cc trn2", "2.19 to 2.23", kTraces, whole(false)},
      {"neuronx-cc trn2 direct", "2.19 to 2.23", kTraces, back_end(false)},
      {"neuronx-cc trn2 --disable-dge", "2.15 to 2.23", kFlag, whole(true)},
      {"neuronx-cc trn2 --disable-dge direct", "2.15 to 2.23", kFlag, back_end(true)},
      {"neuronx-cc trn1", "2.12 to 2.23", kOlder, whole_of_generation_2()},
      {"neuronx-cc trn1 direct", "2.12 to 2.23", kOlder, without_hoisted_loads(back_end(true))},
  };
}

}  // namespace

PassSettings::PassSettings(std::initializer_list<std::pair<std::string_view, int64_t>> values)
    : values_(pass_settings().size()) {
  for (const auto& [name, value] : values) set(name, value);
}

int64_t PassSettings::operator[](std::string_view name) const {
  const size_t index = index_of(name);
  require(index < values_.size(), "a pass reads settings that exist");
  return values_[index];
}

void PassSettings::set(std::string_view name, int64_t value) {
  const size_t index = index_of(name);
  if (index == values_.size()) {
    std::string names;
    for (const PassSetting& each : pass_settings()) {
      names += text(names.empty() ? "" : ", ", each.name);
    }
    fail(text("setting '", name, "' of the compiler's passes is unknown; there are: ", names, "."));
  }
  if (value < 0 || value > 1) {
    fail(text("setting '", name, "' of the compiler's passes is ", value, ", but must be 0 or 1."));
  }
  values_[index] = value;
}

std::string describe(const PassSettings& settings) {
  std::string result;
  for (const PassSetting& each : pass_settings()) {
    if (settings[each.name] != 0) result += text(result.empty() ? "" : ", ", each.name);
  }
  return result.empty() ? "none" : result;
}

std::span<const PublishedStack> published_stacks() {
  static const std::vector<PublishedStack> stacks = make_stacks();
  return stacks;
}

const PublishedStack& published_stack(std::string_view name) {
  std::string names;
  for (const PublishedStack& stack : published_stacks()) {
    if (name == stack.name) return stack;
    names += text(names.empty() ? "" : ", ", stack.name);
  }
  fail(text("software stack '", name, "' is unknown; there are: ", names, "."));
}

}  // namespace neuron_sim
