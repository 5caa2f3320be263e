#pragma once
// One call of build_kernel: inputs and options by name, and what is wrong with them.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "ops/contract/named_kernel.h"
#include "python_bindings/core_module/program/build_kernel.h"

namespace neuron_sim {

/// "a, b, c".
template <typename Names>
std::string listed(const Names& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

/// One request: inputs, and options as text. It notes which ones are read, so that others can be
/// named.
class Request final : public OptionReader {
 public:
  Request(std::string kernel, const std::vector<std::vector<int64_t>>& shapes,
          const std::string& dtype_name, const std::string& architecture, KernelOptions options)
      : kernel_(std::move(kernel)),
        architecture_(load_architecture(architecture)),
        options_(std::move(options)) {
    const Dtype dtype = dtype_of_name(dtype_name);
    for (const auto& shape : shapes) {
      inputs_.push_back({shape, {}, dtype});
      check_sizes(inputs_.back());
    }
  }

  const Architecture& architecture() const { return architecture_; }
  const std::vector<TensorSpec>& inputs() const { return inputs_; }

  bool read(std::string_view option, std::string& value) override {
    if (std::find(known_.begin(), known_.end(), option) == known_.end()) {
      known_.emplace_back(option);
    }
    const auto entry = options_.find(std::string(option));
    if (entry == options_.end()) return false;
    value = entry->second;
    return true;
  }
  bool read(std::string_view option, int64_t& value) override {
    std::string written;
    if (!read(option, written)) return false;
    value = whole_number(option, written, written, "a whole number");
    return true;
  }
  bool read(std::string_view option, double& value) override {
    std::string written;
    if (!read(option, written)) return false;
    value = number<double>(option, written, written, "a number");
    return true;
  }
  /// One number for both, or two with a comma.
  bool read(std::string_view option, std::array<int64_t, 2>& value) override {
    std::string written;
    if (!read(option, written)) return false;
    constexpr const char* kExpected = "a whole number or two with a comma";
    const size_t comma = written.find(',');
    value[0] = whole_number(option, written, written.substr(0, comma), kExpected);
    value[1] = comma == std::string::npos
                   ? value[0]
                   : whole_number(option, written, written.substr(comma + 1), kExpected);
    return true;
  }
  /// Whole numbers with commas between them.
  bool read(std::string_view option, std::vector<int64_t>& value) override {
    std::string written;
    if (!read(option, written)) return false;
    value.clear();
    std::istringstream list(written);
    for (std::string number_text; std::getline(list, number_text, ',');) {
      value.push_back(whole_number(option, written, number_text, "whole numbers with commas"));
    }
    return true;
  }
  void finish() override {
    for (const auto& [option, value] : options_) {
      if (std::find(known_.begin(), known_.end(), option) != known_.end()) continue;
      const std::string known = known_.empty() ? "it has none" : "its options: " + listed(known_);
      fail(text("kernel '", kernel_, "' has no option '", option, "'; ", known, "."));
    }
  }

 private:
  /// `digits`, the whole or a part of the option's value.
  template <typename Number>
  Number number(std::string_view option, const std::string& value, const std::string& digits,
                const char* expected) const {
    Number result = 0;
    const char* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, result);
    if (error != std::errc{} || end != last || !std::isfinite(static_cast<double>(result))) {
      fail(text("kernel '", kernel_, "': option '", option, "' is '", value, "', not ", expected,
                "."));
    }
    return result;
  }
  int64_t whole_number(std::string_view option, const std::string& value, const std::string& digits,
                       const char* expected) const {
    const auto result = number<int64_t>(option, value, digits, expected);
    if (result < -kMost || result > kMost) {
      fail(text("kernel '", kernel_, "': option '", option, "' is ", result,
                ", beyond the limit of ", kMost, "."));
    }
    return result;
  }

  /// Limits that the kernels assume of every shape, because torch tensors keep to them.
  void check_sizes(const TensorSpec& spec) const {
    int64_t elements = 1;
    for (const int64_t size : spec.shape) {
      if (size < 0) {
        fail(text("kernel '", kernel_, "': size ", size, " of ",
                  describe(text("input ", inputs_.size() - 1), spec), " is negative."));
      }
      if (size > 0 && elements > kMost / size) {
        fail(text("kernel '", kernel_, "': ", describe(text("input ", inputs_.size() - 1), spec),
                  " has more than ", kMost, " elements."));
      }
      elements *= size;
    }
  }

  /// More than any HBM; its products with an itemsize or a few sizes still fit 64 bits.
  static constexpr int64_t kMost = int64_t{1} << 40;

  std::string kernel_;
  const Architecture& architecture_;
  std::vector<TensorSpec> inputs_;
  const KernelOptions options_;
  std::vector<std::string> known_;  ///< options the kernel has read
};

}  // namespace neuron_sim
