// The custom ops on CPU tensors: the oneDNN references, so that a model runs the same without the
// device.

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "csrc/custom_ops/result_sizes.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"
#include "ops/reference/reference.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// A new tensor of these sizes with the dtype and device of `like`.
Tensor new_result(const Tensor& like, c10::SymIntArrayRef sizes) {
  return at::empty(C10_AS_INTARRAYREF_SLOW(sizes), like.options());
}

Dtype dtype_of(const Tensor& tensor) { return neuron_sim::dtype_of(tensor.scalar_type()); }

Tensor vector_add(const Tensor& a, const Tensor& b, std::string_view variant, int64_t row_chunk,
                  int64_t free_dim, int64_t num_free_tiles, at::IntArrayRef base_addresses) {
  vector_add_options({variant, row_chunk, free_dim, num_free_tiles, base_addresses});
  const Sizes sizes = vector_add_sizes(a, b);
  const Tensor out = new_result(a, sizes);
  const Tensor left = a.expand_symint(sizes).contiguous();
  const Tensor right = b.expand_symint(sizes).contiguous();
  translate_errors([&] {
    reference::vector_add(left.const_data_ptr(), right.const_data_ptr(), out.mutable_data_ptr(),
                          out.numel(), dtype_of(a));
  });
  return out;
}

Tensor matmul(const Tensor& a, const Tensor& b, std::string_view variant, bool transpose_x) {
  matmul_options(variant, transpose_x);
  const Tensor out = new_result(a, matmul_sizes(a, b, transpose_x));
  const Tensor left = (transpose_x ? a.t() : a).contiguous(), right = b.contiguous();
  translate_errors([&] {
    reference::matmul(left.const_data_ptr(), right.const_data_ptr(), out.mutable_data_ptr(),
                      {left.size(0), left.size(1), b.size(1)}, dtype_of(a));
  });
  return out;
}

Tensor transpose(const Tensor& a, std::string_view engine) {
  transpose_engine(engine);
  const Tensor out = new_result(a, transpose_sizes(a));
  const Tensor source = a.contiguous();
  translate_errors([&] {
    reference::transpose(source.const_data_ptr(), out.mutable_data_ptr(), a.size(0), a.size(1),
                         dtype_of(a));
  });
  return out;
}

Tensor bias_add_activation(const Tensor& x, const Tensor& bias, std::string_view activation) {
  const Tensor out = new_result(x, bias_add_activation_sizes(x, bias, activation));
  const Tensor source = x.contiguous(), addend = bias.contiguous();
  const int64_t features = bias.size(0);
  translate_errors([&] {
    reference::bias_add_activation(source.const_data_ptr(), addend.const_data_ptr(),
                                   out.mutable_data_ptr(), features == 0 ? 0 : x.numel() / features,
                                   features, std::string(activation), dtype_of(x));
  });
  return out;
}

/// Rows (axis 0) or columns (axis 1).
reference::ConvolutionAxis reference_axis(const Tensor& input, const Tensor& weight,
                                          const Conv2dMaxpoolOptions& options, int64_t axis) {
  const auto i = static_cast<size_t>(axis);
  return {input.size(2 + axis), weight.size(2 + axis),  options.stride[i],     options.padding[i],
          options.dilation[i],  options.pool_kernel[i], options.pool_stride[i]};
}

Tensor conv2d_maxpool(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
                      std::string_view activation, at::IntArrayRef dilation, int64_t groups,
                      at::OptionalIntArrayRef pool_stride) {
  const Conv2dMaxpoolOptions options = conv2d_maxpool_options(
      pool_size, pool_stride.value_or(pool_size), stride, padding, dilation, groups, activation);
  const Tensor out = new_result(input, conv2d_maxpool_sizes(input, weight, bias, options));
  const Tensor image = input.contiguous(), filter = weight.contiguous(), addend = bias.contiguous();
  reference::ConvolutionSize size;
  size.images = input.size(0);
  size.channels = input.size(1);
  size.filters = weight.size(0);
  size.groups = groups;
  size.rows = reference_axis(input, weight, options, 0);
  size.columns = reference_axis(input, weight, options, 1);
  translate_errors([&] {
    reference::conv2d_maxpool(image.const_data_ptr(), filter.const_data_ptr(),
                              addend.const_data_ptr(), out.mutable_data_ptr(), size,
                              std::string(activation), dtype_of(input));
  });
  return out;
}

/// The arrays of a network, made contiguous; `kept` owns copies.
reference::Network make_network(const NetworkArguments& arguments, std::vector<Tensor>& kept) {
  const auto pointer = [&](const Tensor& tensor) {
    kept.push_back(tensor.contiguous());
    return kept.back().const_data_ptr();
  };
  reference::Network network;
  network.batch = arguments.x.size(0);
  network.widths.push_back(arguments.x.size(1));
  for (const Tensor& weight : arguments.weights) {
    network.widths.push_back(weight.size(1));
    network.weights.push_back(pointer(weight));
  }
  for (const Tensor& bias : arguments.biases) network.biases.push_back(pointer(bias));
  network.hidden_activation = arguments.hidden_activation;
  network.output_activation = arguments.output_activation;
  return network;
}

Tensor ffnn_forward(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  const NetworkArguments arguments{x, weights, biases, hidden_activation, output_activation};
  const Tensor out = new_result(x, network_sizes("ffnn_forward", arguments));
  std::vector<Tensor> kept;
  const reference::Network network = make_network(arguments, kept);
  const Tensor rows = x.contiguous();
  translate_errors([&] {
    reference::ffnn_forward(rows.const_data_ptr(), out.mutable_data_ptr(), network, dtype_of(x));
  });
  return out;
}

Tensor ffnn_predict(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  const NetworkArguments arguments{x, weights, biases, hidden_activation, output_activation};
  network_sizes("ffnn_predict", arguments);
  const Tensor out = at::empty({x.size(0)}, x.options().dtype(at::kInt));
  std::vector<Tensor> kept;
  const reference::Network network = make_network(arguments, kept);
  const Tensor rows = x.contiguous();
  translate_errors([&] {
    reference::ffnn_predict(rows.const_data_ptr(), out.mutable_data_ptr<int32_t>(), network,
                            dtype_of(x));
  });
  return out.to(at::kLong);
}

}  // namespace

TORCH_LIBRARY_IMPL(neuron_sim, CPU, m) {
  m.impl("vector_add", vector_add);
  m.impl("matmul", matmul);
  m.impl("transpose", transpose);
  m.impl("bias_add_activation", bias_add_activation);
  m.impl("conv2d_maxpool", conv2d_maxpool);
  m.impl("ffnn_forward", ffnn_forward);
  m.impl("ffnn_predict", ffnn_predict);
}

}  // namespace neuron_sim
