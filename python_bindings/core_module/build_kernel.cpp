#include "python_bindings/core_module/build_kernel.h"

#include <array>
#include <charconv>
#include <sstream>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "device/numerics/dtype.h"
#include "ops/epilogue.h"
#include "ops/kernels/bias_add_activation.h"
#include "ops/kernels/conv2d_maxpool.h"
#include "ops/kernels/ffnn.h"
#include "ops/kernels/matmul.h"
#include "ops/kernels/transpose.h"
#include "ops/kernels/vector_add.h"

namespace neuron_sim {
namespace {

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
  const TensorSpec& input(size_t index) const { return inputs_[index]; }
  size_t inputs() const { return inputs_.size(); }

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

  /// What the kernels assume of every shape, because tensors of torch keep to it.
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

  /// Beyond any HBM, and products of it with an itemsize or a few sizes still fit 64 bits.
  static constexpr int64_t kMost = int64_t{1} << 40;

  std::string kernel_;
  const Architecture& architecture_;
  std::vector<TensorSpec> inputs_;
  KernelOptions options_;
  std::vector<std::string> known_;  ///< options the kernel has asked for
};

BuiltOp vector_add(Request& request) {
  request.expect_inputs(2);
  VectorAddOptions options;
  const std::string variant = request.take("variant", std::string("stream"));
  options.row_chunk = request.take("row_chunk", options.row_chunk);
  options.free_dim = request.take("free_dim", options.free_dim);
  options.num_free_tiles = request.take("num_free_tiles", options.num_free_tiles);
  options.base_addresses = request.take_list("base_addresses");
  request.expect_no_more_options();
  options.variant = parse_vector_add_variant(variant);
  return build_vector_add(request.architecture(), request.input(0), request.input(1), options);
}

BuiltOp matmul(Request& request) {
  request.expect_inputs(2);
  MatmulOptions options;
  const std::string variant = request.take("variant", std::string("auto"));
  options.transpose_x = request.take("transpose_x", int64_t{0}) != 0;
  request.expect_no_more_options();
  options.variant = parse_matmul_variant(variant);
  return build_matmul(request.architecture(), request.input(0), request.input(1), options);
}

BuiltOp transpose(Request& request) {
  request.expect_inputs(1);
  const std::string engine = request.take("engine", std::string("auto"));
  request.expect_no_more_options();
  return build_transpose(request.architecture(), request.input(0), parse_transpose_engine(engine));
}

BuiltOp bias_add_activation(Request& request) {
  request.expect_inputs(2);
  const std::string activation = request.take("activation", std::string("identity"));
  request.expect_no_more_options();
  return build_bias_add_activation(request.architecture(), request.input(0), request.input(1),
                                   activation);
}

BuiltOp conv2d_maxpool(Request& request) {
  request.expect_inputs(3);
  Conv2dMaxpoolOptions options;
  options.pool_kernel = request.take("pool_size", options.pool_kernel);
  options.pool_stride = request.take("pool_stride", options.pool_kernel);
  options.stride = request.take("stride", options.stride);
  options.padding = request.take("padding", options.padding);
  options.dilation = request.take("dilation", options.dilation);
  options.groups = request.take("groups", options.groups);
  const std::string activation = request.take("activation", std::string("identity"));
  request.expect_no_more_options();
  const OutputFunction function = parse_output_function("conv2d_maxpool", activation);
  if (function.softmax) fail("conv2d_maxpool: activation 'softmax' is not pointwise.");
  options.activation = function.pointwise;
  return build_conv2d_maxpool(request.architecture(), request.input(0), request.input(1),
                              request.input(2), options);
}

/// Inputs: x, then all weights, then all biases.
BuiltOp ffnn(Request& request, bool predict) {
  if (request.inputs() < 3 || request.inputs() % 2 == 0) {
    fail(text("ffnn has x, its weights and as many biases as inputs, not ", request.inputs(),
              " tensors."));
  }
  FfnnSpecs specs;
  specs.x = request.input(0);
  const size_t layers = (request.inputs() - 1) / 2;
  for (size_t i = 0; i < layers; ++i) {
    specs.weights.push_back(request.input(1 + i));
    specs.biases.push_back(request.input(1 + layers + i));
  }
  FfnnOptions options;
  options.hidden_activation = request.take("hidden_activation", options.hidden_activation);
  options.output_activation = request.take("output_activation", options.output_activation);
  request.expect_no_more_options();
  return predict ? build_ffnn_predict(request.architecture(), specs, options)
                 : build_ffnn_forward(request.architecture(), specs, options);
}

BuiltOp ffnn_forward(Request& request) { return ffnn(request, false); }
BuiltOp ffnn_predict(Request& request) { return ffnn(request, true); }

struct Entry {
  const char* name;
  BuiltOp (*build)(Request&);
};

constexpr Entry kKernels[] = {
    {"vector_add", vector_add},         {"matmul", matmul},
    {"transpose", transpose},           {"bias_add_activation", bias_add_activation},
    {"conv2d_maxpool", conv2d_maxpool}, {"ffnn_forward", ffnn_forward},
    {"ffnn_predict", ffnn_predict},
};

}  // namespace

Dtype dtype_of_name(const std::string& name_of_dtype) {
  if (const auto dtype = parse_dtype(name_of_dtype)) return *dtype;
  std::vector<std::string_view> names;
  for (int i = 0; i < kDtypeCount; ++i) names.push_back(name(static_cast<Dtype>(i)));
  fail(text("dtype '", name_of_dtype, "' is unknown; allowed: ", listed(names), "."));
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kKernels) names.emplace_back(entry.name);
  return names;
}

std::shared_ptr<const Program> build_kernel(const std::string& kernel,
                                            const std::vector<std::vector<int64_t>>& shapes,
                                            const std::string& dtype,
                                            const std::string& architecture,
                                            const KernelOptions& options) {
  for (const Entry& entry : kKernels) {
    if (entry.name != kernel) continue;
    Request request(kernel, shapes, dtype, architecture, options);
    BuiltOp op = entry.build(request);
    if (!op.program) fail(text("kernel '", kernel, "' has nothing to compute for these shapes."));
    return op.program;
  }
  fail(text("kernel '", kernel, "' is unknown; allowed: ", listed(kernel_names()), "."));
}

}  // namespace neuron_sim
