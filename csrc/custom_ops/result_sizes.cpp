#include "csrc/custom_ops/result_sizes.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"

namespace neuron_sim {
namespace {

using at::Tensor;

bool is_addable(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
    case at::kInt:
    case at::kShort:
    case at::kChar:
    case at::kByte: return true;
    default: return false;
  }
}

/// Size of dimension `i` from the right; 1 where the tensor has none.
c10::SymInt size_from_right(const Tensor& tensor, int64_t i) {
  const int64_t dimension = tensor.dim() - 1 - i;
  return dimension < 0 ? c10::SymInt(1) : tensor.sym_sizes()[static_cast<size_t>(dimension)];
}

/// Output rows (axis 0) or columns (axis 1) of a convolution with pooling.
c10::SymInt pooled_size(const Tensor& input, const Tensor& weight,
                        const Conv2dMaxpoolOptions& options, size_t axis) {
  const char* name = axis == 0 ? "height" : "width";
  const c10::SymInt extent = input.sym_sizes()[2 + axis], kernel = weight.sym_sizes()[2 + axis];
  const int64_t padding = options.padding[axis], dilation = options.dilation[axis];
  const c10::SymInt padded = extent + 2 * padding, reach = (kernel - 1) * dilation + 1;
  TORCH_CHECK_VALUE(
      (padded - reach).sym_ge(0).expect_true(__FILE__, __LINE__), "conv2d_maxpool: the kernel ",
      name, " of ", kernel, dilation == 1 ? std::string() : c10::str(" with dilation ", dilation),
      " exceeds the padded input ", name, " of ", padded, " (", extent, " + 2 * ", padding, ").");
  const c10::SymInt convolved = (padded - reach) / options.stride[axis] + 1;
  const int64_t window = options.pool_kernel[axis];
  TORCH_CHECK_VALUE((convolved - window).sym_ge(0).expect_true(__FILE__, __LINE__),
                    "conv2d_maxpool: the pooling window ", name, " of ", window,
                    " exceeds the convolution output ", name, " of ", convolved, ".");
  return (convolved - window) / options.pool_stride[axis] + 1;
}

/// Channels of input and filters of weight divide into equal groups.
void check_groups(const NamedTensor& input, const NamedTensor& weight, int64_t groups) {
  constexpr const char* kOp = "conv2d_maxpool";
  const c10::SymInt channels = input.tensor.sym_size(1), filters = weight.tensor.sym_size(0);
  TORCH_CHECK_VALUE((channels % groups).sym_eq(0).expect_true(__FILE__, __LINE__), kOp, ": groups ",
                    groups, " does not divide the ", channels, " channels of ", describe(input),
                    ".");
  TORCH_CHECK_VALUE((filters % groups).sym_eq(0).expect_true(__FILE__, __LINE__), kOp, ": groups ",
                    groups, " does not divide the ", filters, " output channels of ",
                    describe(weight), ".");
  check_size(kOp, weight, 1, channels / groups,
             groups == 1 ? "the channels of input" : "the channels of input per group");
}

/// `gradient` has the sizes, the dtype and the device of the forward op's result.
void check_gradient(const char* op, const Tensor& gradient, const NamedTensor& operand,
                    const Sizes& sizes) {
  const NamedTensor named{"gradient", gradient};
  check_same_device(op, {operand, named});
  check_same_dtype(op, {operand, named});
  check_rank(op, named, static_cast<int64_t>(sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    check_size(op, named, static_cast<int64_t>(i), sizes[i], "the result of the op");
  }
}

void check_layer(const char* op, const Tensor& x, const NamedTensor& weight,
                 const NamedTensor& bias, const c10::SymInt& depth) {
  check_same_device(op, {{"x", x}, weight, bias});
  check_same_dtype(op, {{"x", x}, weight, bias});
  check_rank(op, weight, 2);
  check_rank(op, bias, 1);
  check_size(op, weight, 0, depth, "the width of the layer's input");
  check_not_empty(op, weight);
  check_size(op, bias, 0, weight.tensor.sym_size(1), "the columns of its weight");
}

}  // namespace

VectorAddOptions vector_add_options(const VectorAddArguments& arguments) {
  constexpr const char* kOp = "vector_add";
  VectorAddOptions options;
  options.variant = translate_errors([&] { return parse_vector_add_variant(arguments.variant); });
  check_at_least(kOp, "row_chunk", arguments.row_chunk, 1);
  check_at_least(kOp, "free_dim", arguments.free_dim, 0);
  check_at_least(kOp, "num_free_tiles", arguments.num_free_tiles, 1);
  options.row_chunk = arguments.row_chunk;
  options.free_dim = arguments.free_dim;
  options.num_free_tiles = arguments.num_free_tiles;
  options.base_addresses = arguments.base_addresses.vec();
  return options;
}

MatmulOptions matmul_options(std::string_view variant, bool transpose_x) {
  MatmulOptions options;
  options.variant = translate_errors([&] { return parse_matmul_variant(variant); });
  options.transpose_x = transpose_x;
  return options;
}

TransposeEngine transpose_engine(std::string_view engine) {
  return translate_errors([&] { return parse_transpose_engine(engine); });
}

Conv2dMaxpoolOptions conv2d_maxpool_options(at::IntArrayRef pool_kernel,
                                            at::IntArrayRef pool_stride, at::IntArrayRef stride,
                                            at::IntArrayRef padding, at::IntArrayRef dilation,
                                            int64_t groups, std::string_view activation) {
  constexpr const char* kOp = "conv2d_maxpool";
  const auto checked = [&](const char* name, at::IntArrayRef values, int64_t minimum) {
    TORCH_CHECK_VALUE(values.size() == 2, kOp, ": ", name, " has ", values.size(),
                      " values, expected 2 (height, width).");
    for (const int64_t value : values) check_at_least(kOp, name, value, minimum);
    return std::array{values[0], values[1]};
  };
  Conv2dMaxpoolOptions options{.pool_kernel = checked("pool_size", pool_kernel, 1),
                               .pool_stride = checked("pool_stride", pool_stride, 1),
                               .stride = checked("stride", stride, 1),
                               .padding = checked("padding", padding, 0),
                               .dilation = checked("dilation", dilation, 1),
                               .groups = groups};
  check_at_least(kOp, "groups", groups, 1);
  check_activation(kOp, "activation", activation, /*softmax_allowed=*/false);
  options.activation = *parse_activation(activation);
  return options;
}

Sizes vector_add_sizes(const Tensor& a, const Tensor& b) {
  check_same_device("vector_add", {{"a", a}, {"b", b}});
  check_same_dtype("vector_add", {{"a", a}, {"b", b}});
  TORCH_CHECK_TYPE(is_addable(a.scalar_type()), "vector_add: ", describe({"a", a}),
                   " has a dtype other than float32, float16, bfloat16, int32, int16, int8 and "
                   "uint8.");
  const int64_t rank = std::max(a.dim(), b.dim());
  Sizes sizes(static_cast<size_t>(rank), 1);
  for (int64_t i = 0; i < rank; ++i) {
    const c10::SymInt from_a = size_from_right(a, i), from_b = size_from_right(b, i);
    c10::SymInt& size = sizes[static_cast<size_t>(rank - 1 - i)];
    if (TORCH_GUARD_OR_FALSE(from_a.sym_eq(1))) {
      size = from_b;
      continue;
    }
    size = from_a;
    if (TORCH_GUARD_OR_FALSE(from_b.sym_eq(1))) continue;
    TORCH_CHECK_VALUE(from_a.sym_eq(from_b).expect_true(__FILE__, __LINE__),
                      "vector_add: ", describe({"a", a}), " and ", describe({"b", b}),
                      " cannot be broadcast: dimension ", rank - 1 - i, " of the result is ",
                      from_a, " in a and ", from_b, " in b.");
  }
  return sizes;
}

Sizes matmul_sizes(const Tensor& a, const Tensor& b, bool transpose_x) {
  check_same_device("matmul", {{"a", a}, {"b", b}});
  check_same_dtype("matmul", {{"a", a}, {"b", b}});
  check_float("matmul", {"a", a});
  check_rank("matmul", {"a", a}, 2);
  check_rank("matmul", {"b", b}, 2);
  const int64_t depth = transpose_x ? 0 : 1;
  check_size("matmul", {"b", b}, 0, a.sym_size(depth),
             transpose_x ? "the rows of a, with transpose_x" : "the columns of a");
  return {a.sym_size(1 - depth), b.sym_size(1)};
}

Sizes transpose_sizes(const Tensor& a) {
  check_rank("transpose", {"a", a}, 2);
  translate_errors([&] { return dtype_of(a.scalar_type()); });
  return {a.sym_size(1), a.sym_size(0)};
}

Sizes bias_add_activation_sizes(const Tensor& x, const Tensor& bias, std::string_view activation) {
  constexpr const char* kOp = "bias_add_activation";
  check_same_device(kOp, {{"x", x}, {"bias", bias}});
  check_same_dtype(kOp, {{"x", x}, {"bias", bias}});
  check_float(kOp, {"x", x});
  TORCH_CHECK_VALUE(x.dim() > 0, kOp, ": ", describe({"x", x}), " has no last dimension.");
  check_rank(kOp, {"bias", bias}, 1);
  check_size(kOp, {"bias", bias}, 0, x.sym_size(-1), "the last dimension of x");
  check_activation(kOp, "activation", activation, /*softmax_allowed=*/true);
  return Sizes(x.sym_sizes());
}

Sizes conv2d_maxpool_sizes(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Conv2dMaxpoolOptions& options) {
  constexpr const char* kOp = "conv2d_maxpool";
  const NamedTensor operands[] = {{"input", input}, {"weight", weight}, {"bias", bias}};
  check_same_device(kOp, {operands[0], operands[1], operands[2]});
  check_same_dtype(kOp, {operands[0], operands[1], operands[2]});
  check_float(kOp, operands[0]);
  check_rank(kOp, operands[0], 4);
  check_rank(kOp, operands[1], 4);
  check_rank(kOp, operands[2], 1);
  check_groups(operands[0], operands[1], options.groups);
  check_size(kOp, operands[2], 0, weight.sym_size(0), "the output channels of weight");
  check_not_empty(kOp, operands[1]);
  return {input.sym_size(0), weight.sym_size(0), pooled_size(input, weight, options, 0),
          pooled_size(input, weight, options, 1)};
}

void check_bias_add_activation_backward(const Tensor& gradient, const Tensor& x, const Tensor& bias,
                                        std::string_view activation) {
  check_gradient("bias_add_activation_backward", gradient, {"x", x},
                 bias_add_activation_sizes(x, bias, activation));
}

void check_conv2d_maxpool_backward(const Tensor& gradient, const Tensor& input,
                                   const Tensor& weight, const Tensor& bias,
                                   const Conv2dMaxpoolOptions& options) {
  check_gradient("conv2d_maxpool_backward", gradient, {"input", input},
                 conv2d_maxpool_sizes(input, weight, bias, options));
}

Sizes network_sizes(const char* op, const NetworkArguments& arguments) {
  const auto& [x, weights, biases, hidden_activation, output_activation] = arguments;
  check_float(op, {"x", x});
  check_rank(op, {"x", x}, 2);
  TORCH_CHECK_VALUE(!weights.empty() && weights.size() == biases.size(), op, ": ", weights.size(),
                    " weights and ", biases.size(),
                    " biases; there must be as many biases as weights, and at least one.");
  check_activation(op, "hidden_activation", hidden_activation, /*softmax_allowed=*/false);
  check_activation(op, "output_activation", output_activation, /*softmax_allowed=*/true);
  c10::SymInt depth = x.sym_size(1);
  for (size_t layer = 0; layer < weights.size(); ++layer) {
    const std::string weight_name = c10::str("weights[", layer, "]");
    const std::string bias_name = c10::str("biases[", layer, "]");
    check_layer(op, x, {weight_name.c_str(), weights[layer]}, {bias_name.c_str(), biases[layer]},
                depth);
    depth = weights[layer].sym_size(1);
  }
  return {x.sym_size(0), depth};
}

}  // namespace neuron_sim
