#include "ops/rows/bias_add_activation_backward.h"

#include "ops/rows/bias_add_activation.h"
#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

constexpr double kPi = 3.14159265358979323846;

double derivative(const std::string& name, double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  if (name == "relu") return x <= 0 ? 0 : 1;
  if (name == "exp") return std::exp(x);
  if (name == "gelu") {
    return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * kPi);
  }
  if (name == "sigmoid") return sigmoid * (1 - sigmoid);
  if (name == "tanh") return 1 - std::tanh(x) * std::tanh(x);
  if (name == "square") return 2 * x;
  if (name == "sqrt") return 0.5 / std::sqrt(x);
  if (name == "rsqrt") return -0.5 / (x * std::sqrt(x));
  return 1;
}

void softmax_row(const double* gradient, double* sum, size_t features) {
  const double largest = *std::max_element(sum, sum + features);
  double total = 0, weighted = 0;
  for (size_t i = 0; i < features; ++i) total += std::exp(sum[i] - largest);
  for (size_t i = 0; i < features; ++i) sum[i] = std::exp(sum[i] - largest) / total;
  for (size_t i = 0; i < features; ++i) weighted += gradient[i] * sum[i];
  for (size_t i = 0; i < features; ++i) sum[i] *= gradient[i] - weighted;
}

/// Row-major gradient of x.
std::vector<double> expected(const std::vector<double>& gradient, std::vector<double> x,
                             const std::vector<double>& bias, const std::string& name) {
  const size_t features = bias.size();
  for (size_t row = 0; row < x.size(); row += features) {
    for (size_t i = 0; i < features; ++i) x[row + i] += bias[i];
    if (name == "softmax") {
      softmax_row(gradient.data() + row, x.data() + row, features);
      continue;
    }
    for (size_t i = row; i < row + features; ++i) x[i] = gradient[i] * derivative(name, x[i]);
  }
  return x;
}

/// Sums of the columns of the gradient of x as stored: fp32 accumulation of N terms is off by at
/// most N * 2^-24 of the sum of their magnitudes, and the result is rounded once.
void expect_sums(const std::vector<double>& sums, const std::vector<double>& x_gradient,
                 Dtype dtype) {
  const size_t features = sums.size(), rows = x_gradient.size() / features;
  for (size_t i = 0; i < features; ++i) {
    double exact = 0, magnitude = 0;
    for (size_t row = 0; row < rows; ++row) {
      exact += x_gradient[row * features + i];
      magnitude += std::abs(x_gradient[row * features + i]);
    }
    const double bound =
        static_cast<double>(rows) * 0x1p-24 * magnitude + std::abs(exact) * unit_of(dtype) + 1e-30;
    ASSERT_NEAR(sums[i], exact, bound) << "column " << i;
  }
}

void check(const Architecture& architecture, const TensorSpec& x, const std::string& name,
           double low = -3, std::vector<int64_t> gradient_strides = {}) {
  SCOPED_TRACE(describe("x", x) + " " + name + " on " + architecture.name);
  const TensorSpec bias{{x.shape.back()}, {}, x.dtype};
  const TensorSpec gradient{x.shape, std::move(gradient_strides), x.dtype};
  HostTensor input(x, random_values(x.elements(), low, 3, 1));
  HostTensor bias_tensor(bias, random_values(bias.elements(), low < 0 ? -1 : 0, 1, 2));
  HostTensor outer(gradient, random_values(x.elements(), -2, 2, 3));
  std::vector<HostTensor> actual = run_outputs(
      build_alone(kBiasAddActivationBackward, architecture, {gradient, x, bias}, {name}),
      {&outer, &input, &bias_tensor});
  const std::vector<double> exact =
      expected(outer.values(), input.values(), bias_tensor.values(), name);
  double scale = 1;
  if (name == "softmax") {  // it adds up a row: its error is relative to the largest gradient
    scale = 2.0 / static_cast<double>(bias.elements());  // of a gradient that cancels
    for (const double value : exact) scale = std::max(scale, std::abs(value));
    if (x.dtype == Dtype::kFloat16) scale += 0x1p-16;  // denormal gradients of long rows
  }
  expect_close(actual[0].values(), exact, unit_of(x.dtype) * 8 * scale);
  expect_sums(actual[1].values(), actual[0].values(), x.dtype);
}

class BiasAddActivationBackward : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
};

TEST_P(BiasAddActivationBackward, KnowsEveryFunction) {
  for (const char* name :
       {"identity", "relu", "exp", "gelu", "sigmoid", "tanh", "square", "softmax"}) {
    check(architecture(), {{130, 70}, {}}, name);
  }
  check(architecture(), {{130, 70}, {}}, "sqrt", 0.1);
  check(architecture(), {{130, 70}, {}}, "rsqrt", 0.1);
}

TEST_P(BiasAddActivationBackward, TakesAnyShapeAndStrides) {
  for (const char* name : {"relu", "softmax", "identity", "tanh"}) {
    check(architecture(), {{5}, {}}, name);
    check(architecture(), {{1, 1}, {}}, name);
    check(architecture(), {{3000, 7}, {}}, name);
    check(architecture(), {{1000, 513}, {}}, name);
    check(architecture(), {{700, 600}, {}}, name);
    check(architecture(), {{129, 5000}, {}}, name);
    check(architecture(), {{3, 4, 5, 33}, {}}, name);
    check(architecture(), {{40, 50}, {1, 40}}, name);
    check(architecture(), {{6, 40, 9}, {9, 100, 1}}, name);
    check(architecture(), {{140, 10}, {0, 1}}, name);
    check(architecture(), {{140, 10}, {}}, name, -3, {0, 0});
    check(architecture(), {{6, 40, 9}, {}}, name, -3, {1, 54, 6});
  }
}

TEST_P(BiasAddActivationBackward, SoftmaxTakesRowsThatDoNotFitSbuf) {
  check(architecture(), {{3, 30000}, {}}, "softmax");
  check(architecture(), {{2, 131, 9001}, {}, Dtype::kFloat16}, "softmax");
  Architecture small = architecture();
  small.limits.sbuf_usable = {160 * 1024};
  for (const int64_t features : {3900, 4000, 4100, 4200, 4300, 4400}) {  // both sides of the limit
    check(small, {{130, features}, {features + 3, 1}}, "softmax", -3, {1, 130});
  }
}

TEST_P(BiasAddActivationBackward, RoundsHalfPrecisionOnce) {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
    for (const char* name : {"identity", "relu", "gelu", "sigmoid", "softmax"}) {
      check(architecture(), {{200, 300}, {}, dtype}, name);
      check(architecture(), {{2000, 9}, {}, dtype}, name);
    }
  }
}

TEST_P(BiasAddActivationBackward, SpecialValuesAreAsInTorch) {
  const TensorSpec x{{1, 6}, {}}, bias{{6}, {}};
  HostTensor input(x, {NAN, -1, -1, 2, 0, INFINITY});
  HostTensor outer(x, {3, INFINITY, NAN, INFINITY, NAN, 5}), zeros(bias, {0, 0, 0, 0, 0, 0});
  const auto gradient = [&](const char* name) {
    return run_op(build_alone(kBiasAddActivationBackward, architecture(), {x, x, bias}, {name}),
                  {&outer, &input, &zeros})
        .values();
  };
  expect_close(gradient("relu"), {3, 0, 0, INFINITY, 0, 5}, 0);
  expect_close(gradient("identity"), {3, INFINITY, NAN, INFINITY, NAN, 5}, 0);
  expect_close(gradient("tanh"), {NAN, INFINITY, NAN, INFINITY, NAN, 0}, 0);
  expect_close(gradient("softmax"), {NAN, NAN, NAN, NAN, NAN, NAN}, 0);
}

TEST_P(BiasAddActivationBackward, GeluHasADerivativeNextToZeroAndInTheTails) {
  const std::vector<double> points{0, -0.0, 1e-38, -1e-30, 1e-20, -1e-20, 3e-20, 1e-6, -9, 9, -40};
  const TensorSpec x{{1, 11}, {}}, bias{{11}, {}};
  HostTensor input(x, points), outer(x, std::vector<double>(11, 1));
  HostTensor zeros(bias, std::vector<double>(11, 0));
  const std::vector<double> actual =
      run_op(build_alone(kBiasAddActivationBackward, architecture(), {x, x, bias}, {"gelu"}),
             {&outer, &input, &zeros})
          .values();
  for (size_t i = 0; i < points.size(); ++i) {
    const double exact = derivative("gelu", points[i]);
    EXPECT_NEAR(actual[i], exact, 1e-6 * std::abs(exact) + 1e-20) << points[i];
  }
}

TEST_P(BiasAddActivationBackward, AnEmptyBatchGivesZeros) {
  const TensorSpec x{{0, 2500}, {}}, bias{{2500}, {}};
  HostTensor empty(x, {}), addend(bias, random_values(2500, -1, 1, 1));
  std::vector<HostTensor> actual = run_outputs(
      build_alone(kBiasAddActivationBackward, architecture(), {x, x, bias}, {"softmax"}),
      {&empty, &empty, &addend});
  EXPECT_EQ(actual[1].values(), std::vector<double>(2500, 0));
  const TensorSpec none{{3, 0}, {}}, no_bias{{0}, {}};
  EXPECT_EQ(build_alone(kBiasAddActivationBackward, architecture(), {none, none, no_bias}, {"relu"})
                .program,
            nullptr);
}

TEST_P(BiasAddActivationBackward, RejectsWhatDoesNotMatch) {
  const auto error = [&](const TensorSpec& gradient, const TensorSpec& x, const TensorSpec& bias,
                         const std::string& name) {
    return error_of([&] {
      build_alone(kBiasAddActivationBackward, architecture(), {gradient, x, bias}, {name});
    });
  };
  const TensorSpec x{{2, 3}, {}}, bias{{3}, {}};
  EXPECT_EQ(error(x, x, bias, "swish"),
            "bias_add_activation_backward: activation 'swish' is not one of identity, relu, exp, "
            "gelu, sigmoid, tanh, square, sqrt, rsqrt, softmax.");
  EXPECT_EQ(error(x, x, {{4}, {}}, "relu"),
            "bias_add_activation_backward: dimension 0 of bias [4] float32 is 4, expected 3.");
  EXPECT_EQ(
      error({{2, 4}, {}}, x, bias, "relu"),
      "bias_add_activation_backward: dimension 1 of gradient [2, 4] float32 is 4, expected 3.");
  EXPECT_EQ(error({{3}, {}}, x, bias, "relu"),
            "bias_add_activation_backward: gradient [3] float32 has 1 dimensions, expected 2.");
  EXPECT_EQ(error({{2, 3}, {}, Dtype::kFloat16}, x, bias, "relu"),
            "bias_add_activation_backward: x [2, 3] float32 and gradient [2, 3] float16 have "
            "different dtypes.");
  EXPECT_EQ(error({{}, {}}, {{}, {}}, bias, "relu"),
            "bias_add_activation_backward: x [] float32 has no last dimension.");
}

TEST_P(BiasAddActivationBackward, TakesAFewTimesTheForwardPass) {
  const TensorSpec x{{4096, 1024}, {}}, bias{{1024}, {}};
  const std::pair<const char*, double> limits[] = {
      {"identity", 1.1}, {"relu", 2.1}, {"tanh", 2.5}, {"softmax", 3}, {"gelu", 2.5}};
  for (const auto& [name, most] : limits) {
    const double forward =
        simulated_microseconds(build_alone(kBiasAddActivation, architecture(), {x, bias}, {name}));
    const double backward = simulated_microseconds(
        build_alone(kBiasAddActivationBackward, architecture(), {x, x, bias}, {name}));
    EXPECT_LT(backward, most * forward) << name << ", forward " << forward << " us";
    EXPECT_GT(backward, 0.8 * forward) << name << ", forward " << forward << " us";
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, BiasAddActivationBackward,
                         ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
