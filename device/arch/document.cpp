#include "device/arch/document.h"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "device/arch/fields.h"
#include "device/arch/overrides.h"
#include "device/base/errors.h"

namespace neuron_sim {

namespace {

constexpr std::array<std::string_view, 4> kFactKeys = {"value", "unit", "source", "certainty"};
/// Text that a file may add and that nothing reads.
constexpr std::array<std::string_view, 2> kRemarkKeys = {"note", "date"};
/// Further generations that the source of a fact covers.
constexpr const char* kGenerations = "generations";
/// Facts may also stand below this key, where older files have those that are a value alone.
constexpr std::string_view kOverrides = "override";
/// What `neuron-sim sweep` reads of the same file.
constexpr std::string_view kSweep = "sweep";
/// Length of a value that a message quotes.
constexpr size_t kQuotedCharacters = 80;
constexpr int64_t kLargestGeneration = 1000;

template <typename Names>
std::string listed(const Names& names) {
  std::string list;
  for (const auto& each : names) list += (list.empty() ? "" : ", ") + std::string(each);
  return list;
}

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string shortened(const std::string& text) {
  return text.size() <= kQuotedCharacters ? text : text.substr(0, kQuotedCharacters) + "...";
}

std::string written(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return shortened(out.str());
}

/// Whole numbers as such: 4398046511104, not 4.39805e+12.
std::string written(double limit) {
  const auto whole = static_cast<int64_t>(limit);
  return static_cast<double>(whole) == limit ? text(whole) : text(limit);
}

template <typename... Parts>
[[noreturn]] void fail_at(const std::string& file, const std::string& key, const Parts&... parts) {
  fail(text("key '", key, "' of architecture file '", file, "' ", parts...));
}

/// Walks one file; `key` is always the full dotted key.
class DocumentReader {
 public:
  explicit DocumentReader(const std::string& file) : file_(file) {}

  Document read(const toml::table& root) {
    for (const auto& [name, node] : root) {
      const std::string key(name.str());
      if (key == "base" || key == "arch") {
        if (document_.base) fail_at(file_, key, "is a second base; give one of base and arch.");
        document_.base = string_at(key, node);
      } else if (key == kOverrides) {
        for (const auto& [inner, change] : table_at(key, node)) read_facts(inner.str(), change);
      } else if (key == kSweep) {
        table_at(key, node);
      } else if (key == "name") {
        document_.name = string_at(key, node);
      } else if (key == "neuron_core") {
        document_.neuron_core = string_at(key, node);
      } else if (key == "generation") {
        document_.generation = generation_at(key, node);
      } else {
        read_facts(key, node);
      }
    }
    spread_engine_facts();
    return std::move(document_);
  }

 private:
  std::string string_at(const std::string& key, const toml::node& node) const {
    const auto value = node.value_exact<std::string>();
    if (!value) fail_at(file_, key, "is ", written(node), ", but must be a string.");
    if (value->empty()) fail_at(file_, key, "is an empty string.");
    return *value;
  }

  int64_t generation_at(const std::string& key, const toml::node& node) const {
    const auto value = node.value_exact<int64_t>();
    if (!value || *value < 1 || *value > kLargestGeneration) {
      fail_at(file_, key, "is ", written(node), ", but must be an integer from 1 to ",
              kLargestGeneration, ".");
    }
    return *value;
  }

  std::vector<int64_t> generations_at(const std::string& key, const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      fail_at(file_, key, "is ", written(node), ", but must be a list of generations.");
    }
    std::vector<int64_t> generations;
    for (const toml::node& generation : *list) {
      generations.push_back(generation_at(key, generation));
    }
    return generations;
  }

  const toml::table& table_at(const std::string& key, const toml::node& node) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) fail_at(file_, key, "is ", written(node), ", but must be a table.");
    return *table;
  }

  /// `node` is a fact or a value if `key` names a fact, a value if it names a group of facts, else
  /// a table of such keys: dma.engines = 8 without quotes is a table within a table.
  void read_facts(std::string_view name, const toml::node& node) {
    const std::string key(name);
    const auto& fields = file_fields();
    const auto same = [&](const Field& field) { return field.key == key; };
    const auto field = std::find_if(fields.begin(), fields.end(), same);
    if (field != fields.end() && node.is_table()) {
      document_.facts[key] = fact_at(*field, *node.as_table());
      return;
    }
    if (!overridden_keys(key).empty()) {
      read_override(key, node);
      return;
    }
    const auto is_below = [&](std::string_view other) { return other.starts_with(key + "."); };
    if (std::ranges::none_of(known_keys(), is_below)) {
      fail_at(file_, key, "is unknown; allowed there: ", listed(neighbours(key)), ".");
    }
    for (const auto& [part, inner] : table_at(key, node)) {
      read_facts(text(key, ".", std::string(part.str())), inner);
    }
  }

  void read_override(const std::string& name, const toml::node& node) {
    Override change{.name = name};
    if (const auto flag = node.value_exact<bool>()) {
      change.is_flag = true;
      change.number = *flag ? 1 : 0;
    } else if (node.is_number()) {
      change.number = number_at(node);
    } else if (const auto factor = factor_of(node.value_or(std::string()))) {
      change.is_factor = true;
      change.number = *factor;
    } else {
      fail_at(file_, name, "is ", written(node),
              ", but must be a number, true, false, a factor such as \"2x\" or, of a fact, a "
              "table of ",
              listed(kFactKeys), ".");
    }
    document_.overrides.push_back(std::move(change));
  }

  /// A fact of [engine] is one of every engine whose section does not state it.
  void spread_engine_facts() {
    for (const std::string_view engine : kEngineSections) {
      for (const auto& [key, fact] : document_.facts) {
        if (!key.starts_with(kAllEngines)) continue;
        document_.facts.emplace(std::string(engine) + key.substr(kAllEngines.size()), fact);
      }
    }
    std::erase_if(document_.facts,
                  [](const auto& entry) { return entry.first.starts_with(kAllEngines); });
  }

  /// What a file may state of the hardware: facts, and groups of them.
  static std::vector<std::string_view> known_keys() {
    std::vector<std::string_view> keys;
    for (const Field& field : file_fields()) keys.push_back(field.key);
    for (const FactGroup& group : fact_groups()) keys.push_back(group.name);
    return keys;
  }

  /// The names that could stand where the last part of `key` stands.
  static std::vector<std::string> neighbours(const std::string& key) {
    const size_t dot = key.rfind('.');
    const std::string prefix = dot == std::string::npos ? "" : key.substr(0, dot + 1);
    std::vector<std::string> names;
    if (prefix.empty()) names = {"base", "name", "neuron_core", "generation", std::string(kSweep)};
    for (const std::string_view known : known_keys()) {
      if (!known.starts_with(prefix)) continue;
      const std::string_view rest = known.substr(prefix.size());
      const std::string name(rest.substr(0, rest.find('.')));
      if (!contains(names, name)) names.push_back(name);
    }
    return names;
  }

  Fact fact_at(const Field& field, const toml::table& table) const {
    for (const auto& [name, inner] : table) {
      if (contains(kFactKeys, name.str()) || contains(kRemarkKeys, name.str()) ||
          name.str() == kGenerations) {
        continue;
      }
      fail_at(file_, field.key + "." + std::string(name.str()),
              "is unknown; allowed there: ", listed(kFactKeys), ", ", listed(kRemarkKeys), ", ",
              kGenerations, ".");
    }
    for (const std::string_view name : kFactKeys) {
      if (!table.contains(name)) {
        fail_at(file_, field.key + "." + std::string(name), "is missing; a fact needs ",
                listed(kFactKeys), "; a value alone changes the fact of a base.");
      }
    }
    Fact fact;
    fact.unit = string_at(field.key + ".unit", *table.get("unit"));
    fact.source = string_at(field.key + ".source", *table.get("source"));
    fact.certainty = string_at(field.key + ".certainty", *table.get("certainty"));
    check_words(field, fact);  // a value in another unit is out of range for a reason
    fact.value = value_at(field, *table.get("value"));
    for (const std::string_view name : kRemarkKeys) {
      const toml::node* remark = table.get(name);
      if (remark != nullptr) string_at(field.key + "." + std::string(name), *remark);
    }
    if (const toml::node* generations = table.get(kGenerations)) {
      fact.generations = generations_at(field.key + ".generations", *generations);
    }
    return fact;
  }

  void check_words(const Field& field, const Fact& fact) const {
    if (fact.unit != field.unit) {
      fail_at(file_, field.key + ".unit", "is '", shortened(fact.unit), "', but must be '",
              field.unit, "'.");
    }
    if (!contains(kCertainties, fact.certainty)) {
      fail_at(file_, field.key + ".certainty", "is '", shortened(fact.certainty),
              "', but must be one of ", listed(kCertainties), ".");
    }
  }

  double value_at(const Field& field, const toml::node& node) const {
    const std::string key = field.key + ".value";
    switch (field.form) {
      case Form::kBoolean:
        if (const auto flag = node.value_exact<bool>()) return *flag ? 1 : 0;
        fail_at(file_, key, "is ", written(node), ", but must be true or false.");
      case Form::kInteger:
        if (!node.is_integer()) {
          fail_at(file_, key, "is ", written(node), ", but must be an integer.");
        }
        break;
      case Form::kNumber:
        if (!node.is_number()) {
          fail_at(file_, key, "is ", written(node), ", but must be a number.");
        }
        break;
    }
    const double value = number_at(node);
    check_range(field.range, key, value, node);
    return value;
  }

  /// toml++ gives no double for an integer that a double cannot hold.
  static double number_at(const toml::node& node) {
    const auto integer = node.value_exact<int64_t>();
    return integer ? static_cast<double>(*integer) : node.value_or(0.0);
  }

  void check_range(const Range& range, const std::string& key, double value,
                   const toml::node& node) const {
    if (value >= range.least && value <= range.most) return;  // NaN is outside
    fail_at(file_, key, "is ", written(node), ", but must be from ", written(range.least), " to ",
            written(range.most), ".");
  }

  const std::string& file_;
  Document document_;
};

}  // namespace

Document parse_document(std::string_view toml, const std::string& file) {
  toml::table root;
  try {
    root = toml::parse(toml, file);
  } catch (const toml::parse_error& error) {
    fail(text("architecture file '", file, "', line ", error.source().begin.line,
              ", is not valid TOML: ", error.description(), "."));
  }
  return DocumentReader(file).read(root);
}

}  // namespace neuron_sim
