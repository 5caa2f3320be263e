#include "ops/reference/reference.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloats[] = {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16};

HostTensor random_tensor(std::vector<int64_t> shape, Dtype dtype, unsigned seed) {
  TensorSpec spec{std::move(shape), {}, dtype};
  const std::vector<double> values = random_values(spec.elements(), -2, 2, seed);
  return HostTensor(spec, values);
}

TEST(Reference, VectorAddRoundsOnceAndWrapsIntegers) {
  for (const Dtype dtype : kFloats) {
    HostTensor a = random_tensor({999}, dtype, 1), b = random_tensor({999}, dtype, 2);
    HostTensor out({{999}, {}, dtype});
    reference::vector_add(a.data(), b.data(), out.data(), 999, dtype);
    std::vector<double> expected;
    for (size_t i = 0; i < 999; ++i) {
      expected.push_back(
          round_to(dtype, static_cast<float>(a.values()[i]) + static_cast<float>(b.values()[i])));
    }
    expect_values(out.values(), expected);
  }
  HostTensor a({{3}, {}, Dtype::kInt8}, {127, -128, 5}), b({{3}, {}, Dtype::kInt8}, {1, -1, 6});
  HostTensor out({{3}, {}, Dtype::kInt8});
  reference::vector_add(a.data(), b.data(), out.data(), 3, Dtype::kInt8);
  EXPECT_EQ(out.values(), (std::vector<double>{-128, 127, 11}));
  EXPECT_THROW(reference::vector_add(a.data(), b.data(), out.data(), 3, Dtype::kBool), KernelError);
}

TEST(Reference, MatmulEqualsDoublePrecision) {
  for (const Dtype dtype : kFloats) {
    HostTensor a = random_tensor({7, 33}, dtype, 1), b = random_tensor({33, 5}, dtype, 2);
    HostTensor out({{7, 5}, {}, dtype});
    reference::matmul(a.data(), b.data(), out.data(), {7, 33, 5}, dtype);
    const std::vector<double> x = a.values(), y = b.values();
    std::vector<double> expected(35, 0.0);
    for (size_t i = 0; i < 7; ++i)
      for (size_t j = 0; j < 5; ++j)
        for (size_t k = 0; k < 33; ++k) expected[i * 5 + j] += x[i * 33 + k] * y[k * 5 + j];
    expect_close(out.values(), expected, unit_of(dtype));
  }
  std::vector<float> zeros(6, 1.0F);
  reference::matmul(nullptr, nullptr, zeros.data(), {2, 0, 3}, Dtype::kFloat32);
  EXPECT_EQ(zeros, std::vector<float>(6, 0.0F));
}

TEST(Reference, TransposeMovesBits) {
  constexpr std::pair<size_t, size_t> kShapes[] = {{1, 1}, {13, 37}, {64, 128}, {65, 3}, {0, 4}};
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kInt32, Dtype::kInt16, Dtype::kFloat16,
                            Dtype::kBfloat16, Dtype::kInt8, Dtype::kUint8}) {
    for (const auto& [rows, columns] : kShapes) {
      const int64_t height = static_cast<int64_t>(rows), width = static_cast<int64_t>(columns);
      HostTensor x({{height, width}, {}, dtype}), out({{width, height}, {}, dtype});
      std::mt19937 generator(1);
      std::vector<uint32_t> bits;
      for (size_t i = 0; i < rows * columns; ++i) bits.push_back(generator());
      for (size_t i = 0; i < bits.size(); i += 3) bits[i] %= 128;  // subnormal in every float
      x.set_bits(bits);
      bits = x.bits();
      reference::transpose(x.data(), out.data(), height, width, dtype);
      const std::vector<uint32_t> moved = out.bits();
      for (size_t r = 0; r < rows; ++r) {
        for (size_t c = 0; c < columns; ++c) {
          ASSERT_EQ(moved[c * rows + r], bits[r * columns + c]) << name(dtype) << " " << rows;
        }
      }
    }
  }
}

TEST(Reference, BiasAddActivationKnowsEveryFunction) {
  const std::vector<std::pair<std::string, double (*)(double)>> functions = {
      {"identity", [](double x) { return x; }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"square", [](double x) { return x * x; }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }}};
  for (const auto& [name, function] : functions) {
    SCOPED_TRACE(name);
    HostTensor x = random_tensor({9, 6}, Dtype::kFloat32, 1), bias({{6}, {}}, {3, 3, 4, 4, 5, 5});
    HostTensor out({{9, 6}, {}});
    reference::bias_add_activation(x.data(), bias.data(), out.data(), 9, 6, name, Dtype::kFloat32);
    std::vector<double> expected;
    for (size_t i = 0; i < 54; ++i)
      expected.push_back(function(x.values()[i] + bias.values()[i % 6]));
    expect_close(out.values(), expected, 1e-5);
  }
  std::vector<float> row{0, 0, 0}, bias{0, 0, 1}, out(3);
  reference::bias_add_activation(row.data(), bias.data(), out.data(), 1, 3, "softmax",
                                 Dtype::kFloat32);
  EXPECT_NEAR(out[2], std::exp(1.0) / (2 + std::exp(1.0)), 1e-6);
  EXPECT_THROW(reference::bias_add_activation(row.data(), bias.data(), out.data(), 1, 3, "swish",
                                              Dtype::kFloat32),
               KernelError);
}

/// relu(convolution + bias) at one output of the convolution, in double precision.
double convolved(const std::vector<double>& x, const std::vector<double>& w, double bias,
                 const reference::ConvolutionSize& s, int64_t image, int64_t filter, int64_t row,
                 int64_t column) {
  const int64_t depth = s.channels / s.groups, group = filter / (s.filters / s.groups);
  double sum = bias;
  for (int64_t c = 0; c < depth; ++c)
    for (int64_t i = 0; i < s.rows.kernel; ++i)
      for (int64_t j = 0; j < s.columns.kernel; ++j) {
        const int64_t y = row * s.rows.stride + i * s.rows.dilation - s.rows.padding;
        const int64_t z = column * s.columns.stride + j * s.columns.dilation - s.columns.padding;
        if (y < 0 || y >= s.rows.extent || z < 0 || z >= s.columns.extent) continue;
        const int64_t plane = image * s.channels + group * depth + c;
        sum += x[static_cast<size_t>((plane * s.rows.extent + y) * s.columns.extent + z)] *
               w[static_cast<size_t>(((filter * depth + c) * s.rows.kernel + i) * s.columns.kernel +
                                     j)];
      }
  return std::isnan(sum) ? sum : std::max(sum, 0.0);
}

/// max_pool(relu(convolution + bias)) in double precision; NaN in a window is its maximum.
std::vector<double> convolution(HostTensor& input, HostTensor& weight, HostTensor& bias,
                                const reference::ConvolutionSize& s) {
  const std::vector<double> x = input.values(), w = weight.values(), b = bias.values();
  std::vector<double> result;
  for (int64_t i = 0; i < s.images * s.filters * s.rows.outputs() * s.columns.outputs(); ++i) {
    const int64_t column = i % s.columns.outputs(),
                  row = i / s.columns.outputs() % s.rows.outputs();
    const int64_t plane = i / s.columns.outputs() / s.rows.outputs();
    const int64_t filter = plane % s.filters, image = plane / s.filters;
    double largest = -INFINITY;
    for (int64_t p = 0; p < s.rows.pool_kernel * s.columns.pool_kernel; ++p) {
      const double value = convolved(x, w, b[static_cast<size_t>(filter)], s, image, filter,
                                     row * s.rows.pool_stride + p / s.columns.pool_kernel,
                                     column * s.columns.pool_stride + p % s.columns.pool_kernel);
      largest = std::isnan(value) || std::isnan(largest) ? NAN : std::max(largest, value);
    }
    result.push_back(largest);
  }
  return result;
}

// extent, kernel, stride, padding, dilation, pool_kernel, pool_stride
const reference::ConvolutionSize kConvolutions[] = {
    {2, 3, 5, 1, {9, 3, 1, 0}, {10, 3, 1, 0}},
    {1, 4, 6, 1, {11, 3, 2, 1}, {9, 2, 1, 1}},
    {2, 2, 3, 1, {10, 3, 1, 1, 1, 2, 2}, {8, 3, 1, 1, 1, 2, 2}},
    {1, 4, 6, 2, {13, 3, 1, 2, 2, 3, 2}, {12, 2, 2, 0, 3, 1, 1}},
    {2, 5, 5, 5, {9, 3, 1, 1, 1, 3, 1}, {14, 1, 1, 0, 1, 2, 5}},
    {1, 3, 6, 3, {8, 3, 1, 0, 1, 1, 2}, {7, 5, 1, 4, 1, 2, 3}},
};

TEST(Reference, ConvolutionWithPoolingEqualsDoublePrecision) {
  for (const auto& size : kConvolutions) {
    for (const Dtype dtype : kFloats) {
      HostTensor x = random_tensor(
          {size.images, size.channels, size.rows.extent, size.columns.extent}, dtype, 1);
      HostTensor w = random_tensor(
          {size.filters, size.channels / size.groups, size.rows.kernel, size.columns.kernel}, dtype,
          2);
      HostTensor b = random_tensor({size.filters}, dtype, 3);
      HostTensor out(
          {{size.images, size.filters, size.rows.outputs(), size.columns.outputs()}, {}, dtype});
      reference::conv2d_maxpool(x.data(), w.data(), b.data(), out.data(), size, "relu", dtype);
      expect_close(out.values(), convolution(x, w, b, size), unit_of(dtype) * 2);
    }
  }
}

TEST(Reference, PoolingKeepsNanInEveryWindowThatHoldsIt) {
  const reference::ConvolutionSize size{1, 1, 1, 1, {9, 1, 1, 0, 1, 3, 2}, {9, 1, 1, 0, 1, 2, 3}};
  for (int64_t place = 0; place < 81; ++place) {
    HostTensor x = random_tensor({1, 1, 9, 9}, Dtype::kFloat32, 1);
    reinterpret_cast<float*>(x.data())[place] = NAN;
    HostTensor w({{1, 1, 1, 1}, {}}, {1}), b({{1}, {}}, {0});
    HostTensor out({{1, 1, size.rows.outputs(), size.columns.outputs()}, {}, Dtype::kFloat32});
    reference::conv2d_maxpool(x.data(), w.data(), b.data(), out.data(), size, "identity",
                              Dtype::kFloat32);
    for (int64_t i = 0; i < 12; ++i) {
      const int64_t top = i / 3 * 2, left = i % 3 * 3, row = place / 9, column = place % 9;
      const bool inside = row >= top && row < top + 3 && column >= left && column < left + 2;
      EXPECT_EQ(std::isnan(out.values()[static_cast<size_t>(i)]), inside) << place << ": " << i;
    }
  }
}

TEST(Reference, NetworkIsItsLayersAndPredictsTheFirstLargest) {
  HostTensor x({{2, 2}, {}}, {1, 2, -1, 0}), w1({{2, 3}, {}}, {1, 0, -1, 0, 1, 1});
  HostTensor b1({{3}, {}}, {0, 0, 0}), w2({{3, 2}, {}}, {1, 0, 0, 1, 0, 0});
  HostTensor b2({{2}, {}}, {0, 0});
  reference::Network network{2,      {2, 3, 2}, {w1.data(), w2.data()}, {b1.data(), b2.data()},
                             "relu", "softmax"};
  HostTensor out({{2, 2}, {}});
  reference::ffnn_forward(x.data(), out.data(), network, Dtype::kFloat32);
  const double e = std::exp(1.0);  // hidden rows: (1, 2, 1) and (0, 0, 1)
  expect_close(out.values(), {1 / (1 + e), e / (1 + e), 0.5, 0.5}, 1e-6);
  int32_t indices[2];
  reference::ffnn_predict(x.data(), indices, network, Dtype::kFloat32);
  EXPECT_EQ(indices[0], 1);
  EXPECT_EQ(indices[1], 0);
}

}  // namespace
}  // namespace neuron_sim
