#include "ops/reference/primitives.h"

#include <algorithm>
#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "ops/reference/plain_functions.h"

namespace neuron_sim::reference {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc describe(const memory::dims& shape, Tag tag) {
  return {shape, memory::data_type::f32, tag};
}

memory wrap(const memory::desc& description, const float* data) {
  return {description, engine(), const_cast<float*>(data)};
}

void run(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& arguments) {
  dnnl::stream stream(engine());
  primitive.execute(stream, arguments);
  stream.wait();
}

struct Function {
  algorithm kind;
  float alpha = 0, beta = 0;
};

/// Empty for identity.
std::optional<Function> function_of(const std::string& name) {
  if (name == "identity") return std::nullopt;
  if (name == "relu") return Function{algorithm::eltwise_relu};
  if (name == "exp") return Function{algorithm::eltwise_exp};
  if (name == "gelu") return Function{algorithm::eltwise_gelu_erf};
  if (name == "sigmoid") return Function{algorithm::eltwise_logistic};
  if (name == "tanh") return Function{algorithm::eltwise_tanh};
  if (name == "square") return Function{algorithm::eltwise_square};
  if (name == "sqrt") return Function{algorithm::eltwise_sqrt};
  if (name == "rsqrt") return Function{algorithm::eltwise_pow, 1, -0.5F};
  refuse_function(name);
}

void apply_softmax(float* data, int64_t rows, int64_t features) {
  const memory::desc matrix = describe({rows, features}, Tag::ab);
  std::vector<std::pair<int64_t, std::vector<float>>> special;
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = data + i * features;
    if (std::all_of(row, row + features, [](float x) { return std::isfinite(x); })) continue;
    special.emplace_back(i, std::vector<float>(row, row + features));
    plain_softmax(special.back().second.data(), features);
  }
  const dnnl::softmax_forward::primitive_desc softmax(
      engine(), dnnl::prop_kind::forward_inference, algorithm::softmax_accurate, matrix, matrix, 1);
  const memory values = wrap(matrix, data);
  run(dnnl::softmax_forward(softmax), {{DNNL_ARG_SRC, values}, {DNNL_ARG_DST, values}});
  for (const auto& [row, result] : special) {
    std::copy(result.begin(), result.end(), data + row * features);
  }
}

void apply_function(float* data, int64_t rows, int64_t features, const std::string& name) {
  if (name == "softmax") return apply_softmax(data, rows, features);
  const memory::desc matrix = describe({rows, features}, Tag::ab);
  const memory values = wrap(matrix, data);
  const auto function = function_of(name);
  if (!function) return;
  std::vector<std::pair<int64_t, float>> special;
  for (int64_t i = 0; i < rows * features; ++i) {
    if (!std::isfinite(data[i])) {
      special.emplace_back(i, static_cast<float>(plain_function(name, data[i])));
    }
  }
  const dnnl::eltwise_forward::primitive_desc eltwise(engine(), dnnl::prop_kind::forward_inference,
                                                      function->kind, matrix, matrix,
                                                      function->alpha, function->beta);
  run(dnnl::eltwise_forward(eltwise), {{DNNL_ARG_SRC, values}, {DNNL_ARG_DST, values}});
  for (const auto& [index, value] : special) data[index] = value;
}

void add_broadcast(const memory::desc& left, const float* a, const memory::desc& right,
                   const float* b, float* out) {
  const dnnl::binary::primitive_desc sum(engine(), algorithm::binary_add, left, right, left);
  run(dnnl::binary(sum), {{DNNL_ARG_SRC_0, wrap(left, a)},
                          {DNNL_ARG_SRC_1, wrap(right, b)},
                          {DNNL_ARG_DST, wrap(left, out)}});
}

/// In oneDNN's own layout and back: several times faster than the plain layouts.
memory reordered(const memory& source, const memory::desc& wanted) {
  if (source.get_desc() == wanted) return source;
  memory target(wanted, engine());
  run(dnnl::reorder(source, target), {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}});
  return target;
}

/// oneDNN's maximum drops NaN; torch's and the chip's keep it: writes NaN to every window of the
/// image and channel `plane` that holds element (row, column).
void spread_nan(float* plane, const ConvolutionSize& size, int64_t row, int64_t column) {
  // The first and last window with an index, in order.
  const auto windows = [](const ConvolutionAxis& axis, int64_t index) {
    const int64_t before = std::max<int64_t>(0, index - axis.pool_kernel + axis.pool_stride);
    return std::pair(before / axis.pool_stride,
                     std::min(index / axis.pool_stride, axis.outputs() - 1));
  };
  const auto [top, bottom] = windows(size.rows, row);
  const auto [left, right] = windows(size.columns, column);
  for (int64_t y = top; y <= bottom; ++y) {
    for (int64_t x = left; x <= right; ++x) plane[y * size.columns.outputs() + x] = NAN;
  }
}

void pool_maximum(const float* input, float* out, const ConvolutionSize& size) {
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  const memory::desc from =
      describe({size.images, size.filters, rows.convolved(), columns.convolved()}, Tag::nchw);
  const memory::desc to =
      describe({size.images, size.filters, rows.outputs(), columns.outputs()}, Tag::nchw);
  const dnnl::pooling_forward::primitive_desc pooling(
      engine(), dnnl::prop_kind::forward_inference, algorithm::pooling_max, from, to,
      {rows.pool_stride, columns.pool_stride}, {rows.pool_kernel, columns.pool_kernel},
      /*dilation=*/{0, 0}, /*padding_l=*/{0, 0}, /*padding_r=*/{0, 0});
  run(dnnl::pooling_forward(pooling),
      {{DNNL_ARG_SRC, wrap(from, input)}, {DNNL_ARG_DST, wrap(to, out)}});
  const int64_t width = columns.convolved(), plane = rows.convolved() * width;
  for (int64_t i = 0; i < size.images * size.filters * plane; ++i) {
    if (!std::isnan(input[i])) continue;
    spread_nan(out + i / plane * rows.outputs() * columns.outputs(), size, i % plane / width,
               i % width);
  }
}

/// [images, filters, convolved rows, convolved columns].
void convolve_only(const float* input, const float* weight, const float* bias, float* out,
                   const ConvolutionSize& size) {
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  const memory::dims from{size.images, size.channels, rows.extent, columns.extent};
  const memory::dims taps{size.groups, size.filters / size.groups, size.channels / size.groups,
                          rows.kernel, columns.kernel};
  const memory::dims to{size.images, size.filters, rows.convolved(), columns.convolved()};
  const memory::dims padding{rows.padding, columns.padding};
  const memory::dims gaps{rows.dilation - 1, columns.dilation - 1};  // between taps
  const memory::desc bias_desc = describe({size.filters}, Tag::a);
  const dnnl::convolution_forward::primitive_desc convolution(
      engine(), dnnl::prop_kind::forward_inference, algorithm::convolution_direct,
      describe(from, Tag::any), describe(taps, Tag::any), bias_desc, describe(to, Tag::any),
      {rows.stride, columns.stride}, gaps, padding, padding);
  const memory source = reordered(wrap(describe(from, Tag::nchw), input), convolution.src_desc());
  const memory weights =
      reordered(wrap(describe(taps, Tag::goihw), weight), convolution.weights_desc());
  const memory result(convolution.dst_desc(), engine());
  run(dnnl::convolution_forward(convolution), {{DNNL_ARG_SRC, source},
                                               {DNNL_ARG_WEIGHTS, weights},
                                               {DNNL_ARG_BIAS, wrap(bias_desc, bias)},
                                               {DNNL_ARG_DST, result}});
  memory plain = wrap(describe(to, Tag::nchw), out);
  memory produced = result;
  run(dnnl::reorder(produced, plain), {{DNNL_ARG_FROM, produced}, {DNNL_ARG_TO, plain}});
}

}  // namespace

void add(const float* a, const float* b, float* out, int64_t elements) {
  const memory::desc vector = describe({elements}, Tag::a);
  add_broadcast(vector, a, vector, b, out);
}

void product(const float* a, const float* b, float* out, const MatmulSize& size) {
  const memory::desc left = describe({size.rows, size.depth}, Tag::ab);
  const memory::desc right = describe({size.depth, size.columns}, Tag::ab);
  const memory::desc result = describe({size.rows, size.columns}, Tag::ab);
  const dnnl::matmul::primitive_desc matmul(engine(), left, right, result);
  run(dnnl::matmul(matmul), {{DNNL_ARG_SRC, wrap(left, a)},
                             {DNNL_ARG_WEIGHTS, wrap(right, b)},
                             {DNNL_ARG_DST, wrap(result, out)}});
}

void add_bias(const float* x, const float* bias, float* out, int64_t rows, int64_t features,
              const std::string& function) {
  add_broadcast(describe({rows, features}, Tag::ab), x, describe({1, features}, Tag::ab), bias,
                out);
  apply_function(out, rows, features, function);
}

void convolve(const float* input, const float* weight, const float* bias, float* out,
              const ConvolutionSize& size, const std::string& function) {
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  const int64_t elements = size.images * size.filters * rows.convolved() * columns.convolved();
  const int64_t window = rows.pool_kernel * columns.pool_kernel;
  const bool pooled = window * rows.pool_stride * columns.pool_stride > 1;
  std::vector<float> unpooled;
  float* convolved = out;
  if (pooled) {
    unpooled.resize(static_cast<size_t>(elements));
    convolved = unpooled.data();
  }
  convolve_only(input, weight, bias, convolved, size);
  apply_function(convolved, 1, elements, function);
  if (pooled) pool_maximum(convolved, out, size);
}

}  // namespace neuron_sim::reference
