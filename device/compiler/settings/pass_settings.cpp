#include "device/compiler/settings/pass_settings.h"

#include <array>
#include <vector>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr SettingField flag(const char* name, bool PassSettings::*member) {
  return {name, member, nullptr};
}
constexpr SettingField number(const char* name, int64_t PassSettings::*member) {
  return {name, nullptr, member};
}

constexpr SettingField kFields[] = {
    flag("rename_buffers", &PassSettings::rename_buffers),
    number("buffers_per_tile", &PassSettings::buffers_per_tile),
    flag("place_large_first", &PassSettings::place_large_first),
    flag("forward_stores", &PassSettings::forward_stores),
    flag("reuse_loads", &PassSettings::reuse_loads),
    number("reuse_loops", &PassSettings::reuse_loops),
    number("reuse_instances", &PassSettings::reuse_instances),
    flag("hoist_invariants", &PassSettings::hoist_invariants),
    flag("fold_zeros", &PassSettings::fold_zeros),
    flag("elide_psum_copies", &PassSettings::elide_psum_copies),
    flag("eliminate_copies", &PassSettings::eliminate_copies),
    flag("eliminate_dead_stores", &PassSettings::eliminate_dead_stores),
    flag("fold_casts", &PassSettings::fold_casts),
    flag("batch_narrow_operations", &PassSettings::batch_narrow_operations),
    number("batch_iterations", &PassSettings::batch_iterations),
    flag("split_sums", &PassSettings::split_sums),
    flag("batch_transposes", &PassSettings::batch_transposes),
    flag("merge_dma", &PassSettings::merge_dma),
    flag("merge_input_loads", &PassSettings::merge_input_loads),
    number("dma_bytes_per_partition", &PassSettings::dma_bytes_per_partition),
    number("dma_bytes", &PassSettings::dma_bytes),
    flag("assign_queues", &PassSettings::assign_queues),
    flag("disable_dge", &PassSettings::disable_dge),
    flag("keep_explicit_queues", &PassSettings::keep_explicit_queues),
    flag("schedule", &PassSettings::schedule),
    flag("choose_copy_engines", &PassSettings::choose_copy_engines),
    flag("keep_groups_together", &PassSettings::keep_groups_together),
    flag("hoist_loads", &PassSettings::hoist_loads),
};

/// What the back end does in every stack: renaming, queues, list scheduling.
PassSettings back_end(bool disable_dge) {
  PassSettings settings;
  settings.rename_buffers = true;
  settings.assign_queues = true;
  settings.disable_dge = disable_dge;
  settings.keep_explicit_queues = true;
  settings.schedule = true;
  settings.choose_copy_engines = true;
  settings.keep_groups_together = true;
  settings.hoist_loads = true;
  return settings;
}

/// The back end after the middle end.
PassSettings whole(bool disable_dge) {
  PassSettings settings = back_end(disable_dge);
  settings.reuse_loads = true;
  settings.reuse_loops = 1;
  settings.reuse_instances = 16'384;
  settings.hoist_invariants = true;
  settings.fold_zeros = true;
  settings.eliminate_copies = true;
  settings.eliminate_dead_stores = true;
  settings.elide_psum_copies = true;
  settings.fold_casts = true;
  settings.batch_narrow_operations = true;
  settings.split_sums = true;
  settings.batch_transposes = true;
  settings.merge_dma = true;
  settings.merge_input_loads = true;
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
      {"neuronx-cc trn1", "2.12 to 2.23", kOlder, whole(true)},
      {"neuronx-cc trn1 direct", "2.12 to 2.23", kOlder, back_end(true)},
  };
}

}  // namespace

std::span<const SettingField> setting_fields() { return kFields; }

void set(PassSettings& settings, std::string_view field, int64_t value) {
  std::string names;
  for (const SettingField& candidate : kFields) {
    names += text(names.empty() ? "" : ", ", candidate.name);
    if (field != candidate.name) continue;
    if (value < 0 || (candidate.flag != nullptr && value > 1)) {
      fail(text("setting '", field, "' of the compiler's passes is ", value, ", but must be ",
                candidate.flag != nullptr ? "0 or 1." : "0 or more."));
    }
    if (candidate.flag != nullptr) {
      settings.*candidate.flag = value != 0;
    } else {
      settings.*candidate.number = value;
    }
    return;
  }
  fail(text("setting '", field, "' of the compiler's passes is unknown; there are: ", names, "."));
}

std::string describe(const PassSettings& settings) {
  std::string result;
  for (const SettingField& field : kFields) {
    const bool shown = field.flag != nullptr ? settings.*field.flag : settings.*field.number != 0;
    if (!shown) continue;
    result += text(result.empty() ? "" : ", ", field.name);
    if (field.number != nullptr) result += text("=", settings.*field.number);
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
