#pragma once
// From files to an Architecture: base files, completeness. Internal to
// device/arch; tests give it their own files.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/arch/architecture.h"
#include "device/arch/document.h"
#include "device/arch/embedded.h"

namespace neuron_sim {

/// Resolves architectures against a set of built-in files. Stateless; safe to share.
class ArchitectureReader {
 public:
  explicit ArchitectureReader(std::span<const EmbeddedFile> builtin) : builtin_(builtin) {}

  /// A built-in name, an alias (gen2, gen3, gen4), or a path ending in .toml. KernelError names
  /// the key, the file and what is wrong; a cycle of bases shows the whole chain.
  Architecture read(std::string_view name_or_path) const;

  /// Names without aliases, sorted.
  std::vector<std::string> names() const;

 private:
  using Chain = std::vector<std::string>;
  Document resolve(const std::string& name_or_path, const std::filesystem::path& folder,
                   Chain& chain) const;
  Document resolve_builtin(const std::string& name) const;
  const EmbeddedFile* find(std::string_view name) const;

  std::span<const EmbeddedFile> builtin_;
};

}  // namespace neuron_sim
