#include "device/arch/reader.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "device/arch/fields.h"
#include "device/arch/overrides.h"
#include "device/base/errors.h"

namespace neuron_sim {

namespace {

// The vendor's NEURON_PLATFORM_TARGET_OVERRIDE accepts the generations.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kAliases = {
    {{"gen2", "trn1"}, {"gen3", "trn2"}, {"gen4", "trn3"}}};

// The built-in ones have 40 KiB.
constexpr size_t kLargestFile = 1 << 20;
// Files that may follow each other as bases.
constexpr size_t kLongestChain = 16;

bool is_path(std::string_view name_or_path) { return name_or_path.ends_with(".toml"); }

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  // Reading a folder throws, and a pipe has no end, so ask first.
  const bool readable = std::filesystem::is_regular_file(path, ignored);
  std::ifstream file;
  if (readable) file.open(path, std::ios::binary);
  if (!file.is_open()) fail(text("architecture file '", path.string(), "' cannot be read."));
  std::string content(kLargestFile + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<size_t>(file.gcount()));
  if (content.size() > kLargestFile) {
    fail(text("architecture file '", path.string(), "' is larger than ", kLargestFile, " bytes."));
  }
  return content;
}

/// The base of a file of `generation`: of another generation's facts, nothing more is known than
/// that they may hold here too, where their source does not say so.
Document inherited(Document base, std::optional<int64_t> generation) {
  if (!generation || generation == base.generation) return base;
  for (auto& [key, fact] : base.facts) {
    if (std::find(fact.generations.begin(), fact.generations.end(), *generation) !=
        fact.generations.end()) {
      continue;
    }
    fact.source = text("as ", *base.name, ": ", fact.source);
    fact.certainty = "assumed";
  }
  return base;
}

/// `changes` over `base`.
Document merged(Document base, Document changes) {
  changes.facts.merge(base.facts);  // adds only the keys that `changes` lacks
  base.facts = std::move(changes.facts);
  base.overrides = std::move(changes.overrides);
  if (changes.name) base.name = changes.name;
  if (changes.neuron_core) base.neuron_core = changes.neuron_core;
  if (changes.generation) base.generation = changes.generation;
  return base;
}

[[noreturn]] void fail_missing(const std::string& key, std::string_view file) {
  fail(text("key '", key, "' of architecture file '", file, "' is missing, and no base has it."));
}

void check_order(const Architecture& architecture, std::string_view file, const char* smaller,
                 const char* larger) {
  const double low = architecture.facts().at(smaller).value;
  const double high = architecture.facts().at(larger).value;
  if (low > high) {
    fail(text("key '", smaller, ".value' of architecture file '", file, "' is ", low,
              ", but must be at most ", high, ", the value of '", larger, "'."));
  }
}

void check_orders(const Architecture& architecture, std::string_view file) {
  check_order(architecture, file, "limits.sbuf_usable", "limits.sbuf_partition");
  check_order(architecture, file, "limits.max8_minimum_elements", "limits.max8_maximum_elements");
  check_order(architecture, file, "limits.topk_minimum_elements", "limits.topk_maximum_elements");
  check_order(architecture, file, "limits.vector_transpose", "limits.partitions");
  check_order(architecture, file, "limits.gpsimd_core_partitions", "limits.partitions");
  check_order(architecture, file, "limits.array_tile", "limits.partitions");
  check_order(architecture, file, "clocks.tensor_cold", "clocks.tensor");
  check_order(architecture, file, "tensor.gate_down", "tensor.gate_up");
}

/// The memory that `keys` multiply to is one that the host can reserve.
void check_memory(const Architecture& architecture, std::string_view file,
                  std::initializer_list<const char*> keys) {
  double bytes = 1;
  std::string product;
  for (const char* key : keys) {
    bytes *= architecture.facts().at(key).value;
    product += text(product.empty() ? "" : " * ", key);
  }
  if (bytes <= ranges::kMemoryBytes) return;
  fail(text("architecture file '", file, "': ", product, " is ", bytes,
            " bytes, but must be at most ", ranges::kMemoryBytes, "."));
}

}  // namespace

std::string without_alias(std::string_view name) {
  for (const auto& [alias, target] : kAliases) {
    if (alias == name) return std::string(target);
  }
  return std::string(name);
}

const EmbeddedFile* ArchitectureReader::find(std::string_view name) const {
  for (const EmbeddedFile& file : builtin_) {
    if (name == file.name) return &file;
  }
  return nullptr;
}

std::vector<std::string> ArchitectureReader::names() const {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : builtin_) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

Document ArchitectureReader::resolve_builtin(const std::string& name) const {
  if (const EmbeddedFile* file = find(name)) return parse_document(file->text, name + ".toml");
  std::string allowed;
  for (const std::string& each : names()) allowed += each + ", ";
  for (const auto& alias : kAliases) allowed += std::string(alias.first) + ", ";
  fail(text("architecture '", name, "' is unknown; allowed: ", allowed,
            "or the path of a file that ends in .toml."));
}

Document ArchitectureReader::resolve(const std::string& name_or_path,
                                     const std::filesystem::path& folder, Chain& chain) const {
  const bool from_file = is_path(name_or_path);
  const std::filesystem::path path =
      from_file ? std::filesystem::weakly_canonical(folder / name_or_path) : "";
  const std::string identity = from_file ? path.string() : without_alias(name_or_path);
  const bool cyclic = std::find(chain.begin(), chain.end(), identity) != chain.end();
  chain.push_back(identity);
  if (cyclic) {
    std::string steps;
    for (const std::string& step : chain) steps += (steps.empty() ? "" : " -> ") + step;
    fail(text("key 'base' of architecture file '", chain[chain.size() - 2],
              "' leads back to itself: ", steps, "."));
  }
  if (chain.size() > kLongestChain) {
    fail(text("architecture file '", identity, "' is number ", chain.size(),
              " of a chain of bases; at most ", kLongestChain, " may follow each other."));
  }
  Document document = from_file ? parse_document(read_file(path), (folder / name_or_path).string())
                                : resolve_builtin(identity);
  if (!document.name) {
    document.name = from_file ? path.stem().string() : identity;
  }
  if (!document.base) return with_overrides(std::move(document), identity);
  // A base named by a path is a sibling of the file that names it.
  Document base = resolve(*document.base, from_file ? path.parent_path() : folder, chain);
  base = inherited(std::move(base), document.generation);
  return with_overrides(merged(std::move(base), std::move(document)), identity);
}

Architecture ArchitectureReader::read(std::string_view name_or_path) const {
  Chain chain;
  Document document = resolve(std::string(name_or_path), "", chain);
  if (!document.neuron_core) fail_missing("neuron_core", name_or_path);
  if (!document.generation) fail_missing("generation", name_or_path);
  Architecture architecture;
  architecture.name = *document.name;
  architecture.neuron_core = *document.neuron_core;
  architecture.generation = *document.generation;
  for (const Field& field : architecture_fields()) {
    const auto fact = document.facts.find(field.key);
    if (fact == document.facts.end()) fail_missing(field.key, name_or_path);
    field.set(architecture, fact->second.value);
  }
  architecture.facts_ = std::move(document.facts);
  check_orders(architecture, name_or_path);
  check_memory(architecture, name_or_path, {"limits.partitions", "limits.sbuf_partition"});
  check_memory(architecture, name_or_path,
               {"limits.partitions", "limits.psum_banks", "limits.psum_bank"});
  return architecture;
}

}  // namespace neuron_sim
