#pragma once
// One call of build_kernel: inputs and options by name, and what is wrong with them.

#include <array>
#include <charconv>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "ops/blocks/tensor_spec.h"
#include "python_bindings/core_module/program/build_kernel.h"

namespace neuron_sim {

/// "a, b, c".
template <typename Names>
std::string listed(const Names& names) {
  std::string list;
  for (const auto& each : names) list += (list.empty() ? "" : ", ") + std::string(each);
  return list;
}

/// One request: inputs, and options that are consumed one by one so that leftovers can be named.
class Request {
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

  void expect_inputs(size_t count) const {
    if (inputs_.size() == count) return;
    fail(text("kernel '", kernel_, "' has ", count, " inputs, not ", inputs_.size(), "."));
  }
  std::string take(const std::string& option, const std::string& otherwise) {
    known_.push_back(option);
    const auto found = options_.find(option);
    if (found == options_.end()) return otherwise;
    const std::string value = found->second;
    options_.erase(found);
    return value;
  }
  int64_t take(const std::string& option, int64_t otherwise) {
    const std::string value = take(option, text(otherwise));
    return number(option, value, value, "a whole number");
  }
  /// Height and width: one number for both, or two with a comma.
  std::array<int64_t, 2> take(const std::string& option, std::array<int64_t, 2> otherwise) {
    const std::string value = take(option, text(otherwise[0], ",", otherwise[1]));
    constexpr const char* kExpected = "a whole number or two with a comma";
    const size_t comma = value.find(',');
    if (comma == std::string::npos) {
      const int64_t both = number(option, value, value, kExpected);
      return {both, both};
    }
    return {number(option, value, value.substr(0, comma), kExpected),
            number(option, value, value.substr(comma + 1), kExpected)};
  }
  /// Whole numbers with commas between them; none when the option is not given.
  std::vector<int64_t> take_list(const std::string& option) {
    const std::string all = take(option, std::string());
    std::vector<int64_t> numbers;
    std::istringstream list(all);
    for (std::string value; std::getline(list, value, ',');) {
      numbers.push_back(number(option, all, value, "whole numbers with commas"));
    }
    return numbers;
  }
  void expect_no_more_options() const {
    if (options_.empty()) return;
    const std::string known = known_.empty() ? "it has none" : "its options: " + listed(known_);
    fail(
        text("kernel '", kernel_, "' has no option '", options_.begin()->first, "'; ", known, "."));
  }

 private:
  /// `digits`, the whole or a part of the option's value.
  int64_t number(const std::string& option, const std::string& value, const std::string& digits,
                 const char* expected) const {
    int64_t result = 0;
    const char* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, result);
    if (error != std::errc{} || end != last) {
      fail(text("kernel '", kernel_, "': option '", option, "' is '", value, "', not ", expected,
                "."));
    }
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
  KernelOptions options_;
  std::vector<std::string> known_;  ///< options the kernel has read
};

}  // namespace neuron_sim
