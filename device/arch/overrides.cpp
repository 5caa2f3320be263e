#include "device/arch/overrides.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "device/arch/fields.h"
#include "device/base/errors.h"

namespace neuron_sim {

namespace {

const Field* find_field(std::string_view key) {
  const auto& fields = architecture_fields();
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

double overridden_value(const Override& change, const Field& field, double value,
                        const std::string& file) {
  const double result = change.is_factor ? value * change.number : change.number;
  const auto refuse = [&](const auto&... reason) {
    fail(text("key '", change.name, "' of architecture file '", file, "' makes '", field.key, "' ",
              result, ", but it ", reason...));
  };
  if (field.form == Form::kBoolean && (change.is_factor || !change.is_flag)) {
    refuse("must be true or false.");
  }
  if (field.form != Form::kBoolean && change.is_flag) refuse("is a number.");
  if (field.form == Form::kInteger && result != std::floor(result)) refuse("must be an integer.");
  if (!(result >= field.range.least && result <= field.range.most)) {
    refuse("must be from ", field.range.least, " to ", field.range.most, ".");
  }
  return result;
}

}  // namespace

std::span<const FactGroup> fact_groups() {
  static const std::vector<FactGroup> groups = {
      {"dma.bandwidth", {"dma.bytes_per_nanosecond", "dma.bytes_per_nanosecond_store"}},
      {"gpsimd.clock", {"clocks.gpsimd"}},
      {"hbm.bandwidth", {"dma.hbm_bytes_per_nanosecond"}},
      {"hbm.size", {"limits.hbm"}},
      {"sbuf.size", {"limits.sbuf_partition", "limits.sbuf_usable"}},
      {"scalar.clock", {"clocks.scalar"}},
      {"tensor.clock", {"clocks.tensor", "clocks.tensor_cold"}},
      {"vector.clock", {"clocks.vector"}},
  };
  return groups;
}

std::vector<std::string> overridden_keys(std::string_view name) {
  for (const FactGroup& group : fact_groups()) {
    if (group.name == name) return {group.keys.begin(), group.keys.end()};
  }
  if (find_field(name) != nullptr) return {std::string(name)};
  const auto& fields = file_fields();
  const auto same = [&](const Field& field) { return field.key == name; };
  if (std::none_of(fields.begin(), fields.end(), same)) return {};
  std::vector<std::string> keys;  // of [engine], which is a fact of each
  for (const std::string_view engine : kEngineSections) {
    keys.push_back(text(engine, name.substr(kAllEngines.size())));
  }
  return keys;
}

std::optional<double> factor_of(std::string_view text) {
  if (!text.ends_with('x')) return std::nullopt;
  const std::string_view digits = text.substr(0, text.size() - 1);
  double factor = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), factor);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || !std::isfinite(factor) || factor <= 0) return std::nullopt;
  return factor;
}

Document with_overrides(Document document, const std::string& file) {
  for (const Override& change : document.overrides) {
    for (const std::string& key : overridden_keys(change.name)) {
      const auto fact = document.facts.find(key);
      if (fact == document.facts.end()) {
        fail(text("key '", change.name, "' of architecture file '", file, "' changes '", key,
                  "', which no base has; a chip's file begins with one, such as base = \"trn2\"."));
      }
      const Field& field = *find_field(key);
      const double before = fact->second.value;
      fact->second.value = overridden_value(change, field, before, file);
      const std::string how = change.is_factor ? text(change.number, " times ") : "in place of ";
      fact->second.source =
          text("override: ", how, before, " ", fact->second.unit, " (", fact->second.source, ")");
      fact->second.certainty = "assumed";
    }
  }
  document.overrides.clear();
  return document;
}

}  // namespace neuron_sim
