#pragma once
// Runs the convolution kernel on random tensors and compares it with a direct one in double.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "device/execute/executor.h"
#include "device/numerics/dtype.h"
#include "ops/conv2d/conv2d_maxpool.h"

// A namespace of its own: other test files have a HostTensor too.
namespace neuron_sim::conv2d_bench {

/// Height and width, or one number for both.
struct Pair {
  int64_t h, w;
  Pair(int64_t both) : h(both), w(both) {}
  Pair(int64_t height, int64_t width) : h(height), w(width) {}
  std::array<int64_t, 2> array() const { return {h, w}; }
};

struct Convolution {
  struct Size {
    int64_t images = 1, channels = 1, height = 1, width = 1;
  };
  Size size{};
  int64_t filters = 1;
  Pair kernel = 3, stride = 1, padding = 0, dilation = 1, pool = 1;
  Pair pool_stride = 0;  ///< 0: that of pool
  int64_t groups = 1;
  Activation activation = Activation::kIdentity;
  Dtype dtype = Dtype::kFloat32;
  bool wide_output = false;  ///< fp32 whatever the dtype
  std::string architecture = "trn2";
  int64_t sbuf_bytes = 0;  ///< shrinks SBUF, so that small tensors need every kind of cut
  std::vector<int64_t> input_strides{}, weight_strides{}, bias_strides{};
  std::vector<std::pair<int64_t, float>> poison_input{}, poison_weight{};  ///< row-major index

  TensorSpec input() const {
    return {{size.images, size.channels, size.height, size.width}, input_strides, dtype};
  }
  TensorSpec weight() const {
    return {{filters, size.channels / groups, kernel.h, kernel.w}, weight_strides, dtype};
  }
  Dtype output_dtype() const { return wide_output ? Dtype::kFloat32 : dtype; }
  TensorSpec bias() const { return {{filters}, bias_strides, dtype}; }
  /// Outputs of the convolution.
  int64_t output_h() const {
    return (size.height + 2 * padding.h - dilation.h * (kernel.h - 1) - 1) / stride.h + 1;
  }
  int64_t output_w() const {
    return (size.width + 2 * padding.w - dilation.w * (kernel.w - 1) - 1) / stride.w + 1;
  }
  Pair step() const { return pool_stride.h == 0 ? pool : pool_stride; }
  /// Outputs of the pooling.
  int64_t pooled_h() const { return (output_h() - pool.h) / step().h + 1; }
  int64_t pooled_w() const { return (output_w() - pool.w) / step().w + 1; }
};

inline const Architecture& architecture_of(const Convolution& c) {
  const Architecture& whole = load_architecture(c.architecture);
  if (c.sbuf_bytes == 0) return whole;
  static std::map<std::pair<std::string, int64_t>, Architecture> small;
  Architecture& result = small.try_emplace({c.architecture, c.sbuf_bytes}, whole).first->second;
  result.limits.sbuf_usable = {c.sbuf_bytes};
  return result;
}

inline BuiltOp build(const Convolution& c) {
  return build_alone(kConv2dMaxpool, architecture_of(c), {c.input(), c.weight(), c.bias()},
                     {.pool_kernel = c.pool.array(),
                      .pool_stride = c.step().array(),
                      .stride = c.stride.array(),
                      .padding = c.padding.array(),
                      .dilation = c.dilation.array(),
                      .groups = c.groups,
                      .activation = c.activation,
                      .output_dtype = c.output_dtype()});
}

/// A tensor in host memory: values in row-major order, and the bytes a program gets.
struct HostTensor {
  std::vector<float> values;  ///< exactly as stored
  std::vector<std::byte> bytes;
};

/// Random values in [-1, 1), rounded to the dtype and stored with the strides of `spec`.
inline HostTensor make_tensor(const TensorSpec& spec, uint32_t seed,
                              const std::vector<std::pair<int64_t, float>>& poison = {}) {
  std::vector<int64_t> strides(spec.shape.size(), 1);
  for (size_t i = strides.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * spec.shape[i + 1];
  const std::vector<int64_t> dense = strides;
  if (!spec.strides.empty()) strides = spec.strides;
  int64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) last += (spec.shape[i] - 1) * strides[i];
  HostTensor tensor;
  const int64_t size = itemsize(spec.dtype);
  tensor.bytes.resize(static_cast<size_t>((last + 1) * size));
  tensor.values.resize(static_cast<size_t>(spec.elements()));
  for (int64_t i = 0; i < spec.elements(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    float value = static_cast<float>(seed >> 8) * 0x1p-23F - 1;
    for (const auto& [index, poisoned] : poison) value = index == i ? poisoned : value;
    int64_t offset = 0;
    for (size_t d = 0; d < dense.size(); ++d) offset += i / dense[d] % spec.shape[d] * strides[d];
    store_floats(&value, tensor.bytes.data() + offset * size, spec.dtype, size, 1);
  }
  for (int64_t i = 0; i < spec.elements(); ++i) {  // several elements may share one place
    int64_t offset = 0;
    for (size_t d = 0; d < dense.size(); ++d) offset += i / dense[d] % spec.shape[d] * strides[d];
    load_floats(tensor.bytes.data() + offset * size, spec.dtype, size,
                &tensor.values[static_cast<size_t>(i)], 1);
  }
  return tensor;
}

inline double activate(Activation function, double x) {
  switch (function) {
    case Activation::kRelu: return std::isnan(x) || x > 0 ? x : 0;
    case Activation::kGelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kSigmoid: return 1 / (1 + std::exp(-x));
    case Activation::kTanh: return std::tanh(x);
    default: return x;
  }
}

/// Sums of one image and filter, [OH][OW], with the sums of magnitudes in `scale`.
inline std::vector<double> convolve(const Convolution& c, const HostTensor& input,
                                    const HostTensor& weight, float bias, int64_t image,
                                    int64_t filter, std::vector<double>& scale) {
  std::vector<double> sums(static_cast<size_t>(c.output_h() * c.output_w()), bias);
  scale.assign(sums.size(), std::abs(bias));
  const int64_t depth = c.size.channels / c.groups, group = filter / (c.filters / c.groups);
  for (int64_t channel = 0; channel < depth; ++channel) {
    const float* plane = input.values.data() + (image * c.size.channels + group * depth + channel) *
                                                   c.size.height * c.size.width;
    const float* taps = weight.values.data() + (filter * depth + channel) * c.kernel.h * c.kernel.w;
    for (int64_t tap = 0; tap < c.kernel.h * c.kernel.w; ++tap) {
      const double w = taps[tap];
      for (int64_t y = 0; y < c.output_h(); ++y) {
        const int64_t row = y * c.stride.h - c.padding.h + tap / c.kernel.w * c.dilation.h;
        for (int64_t x = 0; x < c.output_w(); ++x) {
          const int64_t column = x * c.stride.w - c.padding.w + tap % c.kernel.w * c.dilation.w;
          const bool inside =
              row >= 0 && row < c.size.height && column >= 0 && column < c.size.width;
          const double value = inside ? plane[row * c.size.width + column] : 0;
          sums[static_cast<size_t>(y * c.output_w() + x)] += w * value;
          scale[static_cast<size_t>(y * c.output_w() + x)] += std::abs(w * value);
        }
      }
    }
  }
  return sums;
}

/// Compares one output with the maximum of its window; errors are relative to sums of magnitudes.
inline void expect_window(const Convolution& c, const std::vector<double>& sums,
                          const std::vector<double>& scale, int64_t row, int64_t column,
                          float actual) {
  double expected = -INFINITY, magnitude = 0;
  for (int64_t i = 0; i < c.pool.h * c.pool.w; ++i) {
    const size_t at = static_cast<size_t>((row * c.step().h + i / c.pool.w) * c.output_w() +
                                          column * c.step().w + i % c.pool.w);
    const double value = activate(c.activation, sums[at]);
    expected = std::isnan(value) || std::isnan(expected) ? NAN : std::max(expected, value);
    magnitude = std::max(magnitude, scale[at]);
  }
  if (!std::isfinite(expected)) {
    ASSERT_EQ(std::isnan(actual), std::isnan(expected)) << row << ", " << column;
    if (!std::isnan(expected)) {
      ASSERT_EQ(actual, expected) << row << ", " << column;
    }
    return;
  }
  const double rounding = c.output_dtype() == Dtype::kFloat32   ? 0x1p-24
                          : c.output_dtype() == Dtype::kFloat16 ? 0x1p-11
                                                                : 0x1p-8;
  const double tolerance = 1e-6 * (1 + magnitude) + 1.01 * rounding * std::abs(expected);
  ASSERT_NEAR(actual, expected, tolerance) << row << ", " << column;
}

/// Runs the kernel on two threads and compares every output.
inline void check_convolution(const Convolution& c) {
  const auto pair = [](Pair values) { return text(values.h, " x ", values.w); };
  SCOPED_TRACE(text(describe("input", c.input()), ", ", describe("weight", c.weight()), ", groups ",
                    c.groups, ", stride ", pair(c.stride), ", padding ", pair(c.padding),
                    ", dilation ", pair(c.dilation), ", pool ", pair(c.pool), " every ",
                    pair(c.step()), ", ", c.architecture, ", sbuf ", c.sbuf_bytes));
  const BuiltOp op = build(c);
  HostTensor input = make_tensor(c.input(), 1, c.poison_input);
  HostTensor weight = make_tensor(c.weight(), 2, c.poison_weight);
  HostTensor bias = make_tensor(c.bias(), 3);
  const int64_t size = itemsize(c.output_dtype());
  std::vector<std::byte> output(static_cast<size_t>(op.output.elements() * size), std::byte{0xA5});
  std::byte* const arguments[] = {input.bytes.data(), weight.bytes.data(), bias.bytes.data(),
                                  output.data()};
  CoreMemory memory(*op.program->architecture);
  ThreadPool pool(2);
  execute(*op.program, make_plan(*op.program), memory, arguments, pool);
  const int64_t rows = c.pooled_h(), columns = c.pooled_w();
  const std::vector<int64_t> shape{c.size.images, c.filters, rows, columns};
  ASSERT_EQ(op.output.shape, shape);
  std::vector<double> scale;
  for (int64_t i = 0; i < c.size.images * c.filters && !testing::Test::HasFatalFailure(); ++i) {
    const std::vector<double> sums =
        convolve(c, input, weight, bias.values[static_cast<size_t>(i % c.filters)], i / c.filters,
                 i % c.filters, scale);
    for (int64_t p = 0; p < rows * columns && !testing::Test::HasFatalFailure(); ++p) {
      float actual = 0;
      load_floats(output.data() + (i * rows * columns + p) * size, c.output_dtype(), size, &actual,
                  1);
      expect_window(c, sums, scale, p / columns, p % columns, actual);
    }
  }
}

}  // namespace neuron_sim::conv2d_bench
