#include "python_bindings/core_module/program/build_kernel.h"

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "device/numerics/dtype.h"
#include "ops/blocks/epilogue.h"
#include "ops/conv2d/conv2d_input_gradient.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/conv2d_weight_gradient.h"
#include "ops/ffnn/ffnn.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/transpose.h"
#include "ops/movement/vector_add.h"
#include "ops/pooling/maxpool_activation_backward.h"
#include "ops/rows/bias_add_activation.h"
#include "ops/rows/bias_add_activation_backward.h"
#include "python_bindings/core_module/program/request.h"

namespace neuron_sim {
namespace {

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
  return build_alone(kVectorAdd, request.architecture(), request.inputs(), options);
}

BuiltOp matmul(Request& request) {
  request.expect_inputs(2);
  MatmulOptions options;
  const std::string variant = request.take("variant", std::string("auto"));
  options.transpose_x = request.take("transpose_x", int64_t{0}) != 0;
  request.expect_no_more_options();
  options.variant = parse_matmul_variant(variant);
  return build_alone(kMatmul, request.architecture(), request.inputs(), options);
}

BuiltOp transpose(Request& request) {
  request.expect_inputs(1);
  const std::string engine = request.take("engine", std::string("auto"));
  request.expect_no_more_options();
  return build_alone(kTranspose, request.architecture(), request.inputs(),
                     {parse_transpose_engine(engine)});
}

BuiltOp bias_add_activation(Request& request) {
  request.expect_inputs(2);
  const std::string activation = request.take("activation", std::string("identity"));
  request.expect_no_more_options();
  return build_alone(kBiasAddActivation, request.architecture(), request.inputs(), {activation});
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
  return build_alone(kConv2dMaxpool, request.architecture(), request.inputs(), options);
}

/// Inputs: x, then all weights, then all biases.
BuiltOp ffnn(Request& request, const KernelDefinition<FfnnOptions>& kernel) {
  const size_t count = request.inputs().size();
  if (count < 3 || count % 2 == 0) {
    fail(text("ffnn has x, its weights and as many biases as inputs, not ", count, " tensors."));
  }
  FfnnOptions options;
  options.hidden_activation = request.take("hidden_activation", options.hidden_activation);
  options.output_activation = request.take("output_activation", options.output_activation);
  request.expect_no_more_options();
  return build_alone(kernel, request.architecture(), request.inputs(), options);
}

BuiltOp ffnn_forward(Request& request) { return ffnn(request, kFfnnForward); }
BuiltOp ffnn_predict(Request& request) { return ffnn(request, kFfnnPredict); }

BuiltOp bias_add_activation_backward(Request& request) {
  request.expect_inputs(3);
  const std::string activation = request.take("activation", std::string("identity"));
  request.expect_no_more_options();
  return build_alone(kBiasAddActivationBackward, request.architecture(), request.inputs(),
                     {activation});
}

/// A gradient of a convolution: `build` takes two operands and, as the third, the result's shape.
template <typename Build>
BuiltOp convolution_gradient(Request& request, Build build) {
  request.expect_inputs(3);
  Conv2dGeometry geometry;
  geometry.stride = request.take("stride", geometry.stride);
  geometry.padding = request.take("padding", geometry.padding);
  geometry.dilation = request.take("dilation", geometry.dilation);
  geometry.groups = request.take("groups", geometry.groups);
  request.expect_no_more_options();
  const std::vector<TensorSpec>& inputs = request.inputs();
  return build(request.architecture(), inputs[0], inputs[1], inputs[2], geometry);
}

BuiltOp conv2d_input_gradient(Request& request) {
  return convolution_gradient(request, build_conv2d_input_gradient);
}
BuiltOp conv2d_weight_gradient(Request& request) {
  return convolution_gradient(request, build_conv2d_weight_gradient);
}

BuiltOp maxpool_activation_backward(Request& request) {
  request.expect_inputs(2);
  MaxpoolActivationOptions options;
  options.pool_kernel = request.take("pool_size", options.pool_kernel);
  options.pool_stride = request.take("pool_stride", options.pool_kernel);
  const std::string activation = request.take("activation", std::string("identity"));
  request.expect_no_more_options();
  constexpr std::string_view kOp = "maxpool_activation_backward";
  const OutputFunction function = parse_output_function(kOp, activation);
  if (function.softmax) fail(text(kOp, ": activation 'softmax' is not pointwise."));
  options.activation = function.pointwise;
  return build_alone(kMaxpoolActivationBackward, request.architecture(), request.inputs(), options);
}

struct Entry {
  const char* name;
  BuiltOp (*build)(Request&);
};

constexpr Entry kKernels[] = {
    {"vector_add", vector_add},
    {"matmul", matmul},
    {"transpose", transpose},
    {"bias_add_activation", bias_add_activation},
    {"conv2d_maxpool", conv2d_maxpool},
    {"ffnn_forward", ffnn_forward},
    {"ffnn_predict", ffnn_predict},
    {"bias_add_activation_backward", bias_add_activation_backward},
    {"conv2d_input_gradient", conv2d_input_gradient},
    {"conv2d_weight_gradient", conv2d_weight_gradient},
    {"maxpool_activation_backward", maxpool_activation_backward},
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
