#pragma once
// Kernels by name, for callers that time, list or trace a kernel without data.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

/// The options of one request by name. `read` writes an option's value if it is given and returns
/// whether it is; KernelError for a value of another type. Numbers have no limit but their type.
class OptionReader {
 public:
  virtual ~OptionReader() = default;
  virtual bool read(std::string_view option, std::string& value) = 0;
  virtual bool read(std::string_view option, int64_t& value) = 0;
  virtual bool read(std::string_view option, double& value) = 0;
  /// Height and width.
  virtual bool read(std::string_view option, std::array<int64_t, 2>& value) = 0;
  virtual bool read(std::string_view option, std::vector<int64_t>& value) = 0;
  /// Called after the last one: KernelError for an option that was not read.
  virtual void finish() = 0;
};

/// Reads one field of the options of `kernel`. An enumeration is written by name: its header
/// declares `void parse_option(kernel, option, name, value)`.
template <typename Value>
bool read_option(OptionReader& reader, std::string_view kernel, std::string_view option,
                 Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    int64_t number = value ? 1 : 0;
    const bool given = reader.read(option, number);
    value = number != 0;
    return given;
  } else if constexpr (std::is_enum_v<Value>) {
    std::string name;
    const bool given = reader.read(option, name);
    if (given) parse_option(kernel, option, name, value);
    return given;
  } else {
    return reader.read(option, value);
  }
}

/// Reads the options of `kernel` that kFields names (ops/contract/kernel.h).
template <typename Options>
Options read_options(OptionReader& reader, std::string_view kernel) {
  Options options;
  for_each_field(options, [&](std::string_view label, auto& value) {
    if (label.empty()) return;
    const size_t bar = label.find('|');
    if constexpr (!requires { value.has_value(); }) {  // an optional field has no name
      const bool given = read_option(reader, kernel, label.substr(0, bar), value);
      if (!given && bar != label.npos) {
        read_option(reader, kernel, label.substr(bar + 1), value);
      }
    }
  });
  reader.finish();
  return options;
}

/// Makes a kernel known by its name; a constant next to its definition.
class NamedKernel {
 public:
  template <typename Options>
  explicit NamedKernel(const KernelDefinition<Options>& kernel)
      : NamedKernel(kernel.name, kernel.labels, &kernel,
                    [](const void* definition, const Architecture& architecture,
                       const std::vector<TensorSpec>& operands, OptionReader& reader) {
                      const auto& kernel =
                          *static_cast<const KernelDefinition<Options>*>(definition);
                      return build_alone(kernel, architecture, operands,
                                         read_options<Options>(reader, kernel.name));
                    }) {}
  NamedKernel(const NamedKernel&) = delete;
  NamedKernel& operator=(const NamedKernel&) = delete;

  std::string_view name() const { return name_; }
  /// The kernel as a program by itself. KernelError for another number of operands and for options
  /// and operands that it refuses.
  BuiltOp build(const Architecture& architecture, const std::vector<TensorSpec>& operands,
                OptionReader& reader) const;

 private:
  using Build = BuiltOp (*)(const void* definition, const Architecture& architecture,
                            const std::vector<TensorSpec>& operands, OptionReader& reader);
  NamedKernel(std::string_view name, std::string_view labels, const void* definition, Build build);

  const std::string_view name_, labels_;
  const void* const definition_;
  const Build build_;
};

/// All of them, by name.
const std::vector<const NamedKernel*>& named_kernels();

}  // namespace neuron_sim
