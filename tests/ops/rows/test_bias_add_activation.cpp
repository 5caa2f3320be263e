#include "ops/rows/bias_add_activation.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

double pointwise(const std::string& name, double x) {
  if (name == "relu") return x > 0 ? x : (std::isnan(x) ? x : 0);
  if (name == "exp") return std::exp(x);
  if (name == "gelu") return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "square") return x * x;
  if (name == "sqrt") return std::sqrt(x);
  if (name == "rsqrt") return 1 / std::sqrt(x);
  return x;
}

/// Row-major x [rows, features] plus bias, through the function.
std::vector<double> expected(std::vector<double> x, const std::vector<double>& bias,
                             const std::string& name) {
  const size_t features = bias.size();
  for (size_t row = 0; row < x.size(); row += features) {
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < features; ++i) {
      x[row + i] += bias[i];
      largest = std::max(largest, x[row + i]);
    }
    for (size_t i = 0; i < features; ++i) sum += std::exp(x[row + i] - largest);
    for (size_t i = 0; i < features; ++i) {
      x[row + i] =
          name == "softmax" ? std::exp(x[row + i] - largest) / sum : pointwise(name, x[row + i]);
    }
  }
  return x;
}

void check(const Architecture& architecture, const TensorSpec& x, const std::string& name,
           double low = -3) {
  SCOPED_TRACE(describe("x", x) + " " + name + " on " + architecture.name);
  const TensorSpec bias{{x.shape.back()}, {}, x.dtype};
  HostTensor input(x, random_values(x.elements(), low, 3, 1));
  HostTensor bias_tensor(bias, random_values(bias.elements(), low < 0 ? -1 : 0, 1, 2));
  HostTensor actual = run_op(build_alone(kBiasAddActivation, architecture, {x, bias}, {name}),
                             {&input, &bias_tensor});
  expect_close(actual.values(), expected(input.values(), bias_tensor.values(), name),
               unit_of(x.dtype) * 4);
}

class BiasAddActivation : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
};

TEST_P(BiasAddActivation, KnowsEveryFunction) {
  for (const char* name :
       {"identity", "relu", "exp", "gelu", "sigmoid", "tanh", "square", "softmax"}) {
    check(architecture(), {{130, 70}, {}}, name);
  }
  check(architecture(), {{130, 70}, {}}, "sqrt", 0.1);
  check(architecture(), {{130, 70}, {}}, "rsqrt", 0.1);
}

TEST_P(BiasAddActivation, TakesAnyShapeAndStrides) {
  for (const char* name : {"relu", "softmax"}) {
    check(architecture(), {{5}, {}}, name);
    check(architecture(), {{1, 1}, {}}, name);
    check(architecture(), {{3000, 7}, {}}, name);
    check(architecture(), {{129, 5000}, {}}, name);
    check(architecture(), {{3, 4, 5, 33}, {}}, name);
    check(architecture(), {{40, 50}, {1, 40}}, name);
    check(architecture(), {{6, 40, 9}, {9, 100, 1}}, name);
    check(architecture(), {{140, 10}, {0, 1}}, name);
  }
}

TEST_P(BiasAddActivation, RoundsHalfPrecisionOnce) {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
    check(architecture(), {{200, 300}, {}, dtype}, "gelu");
    check(architecture(), {{200, 300}, {}, dtype}, "softmax");
    check(architecture(), {{200, 300}, {}, dtype}, "identity");
  }
}

TEST_P(BiasAddActivation, SoftmaxOfSpecialRowsIsAsInTorch) {
  const TensorSpec x{{4, 3}, {}}, bias{{3}, {}};
  HostTensor input(x,
                   {1, NAN, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 0, 0, INFINITY, 0, 0});
  HostTensor zeros(bias, {0, 0, 0});
  HostTensor actual = run_op(
      build_alone(kBiasAddActivation, architecture(), {x, bias}, {"softmax"}), {&input, &zeros});
  expect_close(actual.values(), {NAN, NAN, NAN, NAN, NAN, NAN, 0, 0.5, 0.5, NAN, NAN, NAN}, 1e-6);
}

TEST_P(BiasAddActivation, SoftmaxTakesRowsThatDoNotFitSbuf) {
  check(architecture(), {{3, 40000}, {}}, "softmax");
  check(architecture(), {{130, 12289}, {}}, "softmax");
  check(architecture(), {{2, 3, 33001}, {33001, 66002, 1}}, "softmax");
  check(architecture(), {{2, 60001}, {}, Dtype::kBfloat16}, "softmax");
  check(architecture(), {{1, 40000}, {1, 2}, Dtype::kFloat16}, "softmax");
}

TEST_P(BiasAddActivation, SoftmaxStreamsOnlyRowsThatDoNotFitSbuf) {
  const int64_t longest = (architecture().limits.sbuf_usable.count - 4096) / 16;
  const auto bytes = [&](int64_t features) {
    const BuiltOp built = build_alone(kBiasAddActivation, architecture(),
                                      {{{128, features}, {}}, {{features}, {}}}, {"softmax"});
    return simulate(*built.program).dma_bytes;
  };
  // The bias goes to every partition: as much as 128 rows of x.
  EXPECT_EQ(bytes(longest), 3 * 128 * 4 * longest);
  EXPECT_EQ(bytes(longest + 1), 4 * 128 * 4 * (longest + 1));
}

TEST_P(BiasAddActivation, SoftmaxOfSpecialLongRowsIsAsInTorch) {
  constexpr int64_t kFeatures = 20000;
  const TensorSpec x{{6, kFeatures}, {}}, bias{{kFeatures}, {}};
  std::vector<double> values(static_cast<size_t>(6 * kFeatures), -INFINITY);
  const auto at = [&](int64_t row, int64_t column) -> double& {
    return values[static_cast<size_t>(row * kFeatures + column)];
  };
  std::vector<double> expected(values.size());
  const auto expect_row = [&](int64_t row, double everywhere) {
    std::fill_n(expected.begin() + row * kFeatures, kFeatures, everywhere);
  };
  expect_row(0, NAN);  // all minus infinity
  expect_row(1, 0);    // two numbers far behind
  at(1, 9000) = at(1, kFeatures - 1) = 7;
  expected[kFeatures + 9000] = expected[2 * kFeatures - 1] = 0.5;
  expect_row(2, NAN);
  at(2, 0) = INFINITY;
  expect_row(3, NAN);
  at(3, 1) = 5;
  at(3, 15000) = INFINITY;
  expect_row(4, NAN);
  at(4, 15000) = NAN;
  expect_row(5, 0);  // lowest numbers first, then one that outweighs them
  std::fill_n(values.begin() + 5 * kFeatures, kFeatures, -3.0e38);
  at(5, 10000) = 3.0e38;
  expected[5 * kFeatures + 10000] = 1;
  HostTensor input(x, values), zeros(bias, std::vector<double>(kFeatures, 0.0));
  HostTensor actual = run_op(
      build_alone(kBiasAddActivation, architecture(), {x, bias}, {"softmax"}), {&input, &zeros});
  expect_close(actual.values(), expected, 1e-6);
}

TEST_P(BiasAddActivation, RejectsWhatDoesNotMatch) {
  const auto error = [&](const TensorSpec& x, const TensorSpec& bias, const std::string& name) {
    return error_of([&] { build_alone(kBiasAddActivation, architecture(), {x, bias}, {name}); });
  };
  EXPECT_NE(error({{2, 3}, {}}, {{3}, {}}, "swish").find("'swish' is not one of"),
            std::string::npos);
  EXPECT_EQ(error({{2, 3}, {}}, {{4}, {}}, "relu"),
            "bias_add_activation: dimension 0 of bias [4] float32 is 4, expected 3.");
  EXPECT_NE(error({{2, 3}, {}}, {{3}, {}, Dtype::kFloat16}, "relu").find("different dtypes"),
            std::string::npos);
  EXPECT_NE(error({{}, {}}, {{3}, {}}, "relu").find("no last dimension"), std::string::npos);
  EXPECT_EQ(
      build_alone(kBiasAddActivation, architecture(), {{{0, 3}, {}}, {{3}, {}}}, {"relu"}).program,
      nullptr);
}

INSTANTIATE_TEST_SUITE_P(Architectures, BiasAddActivation,
                         ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
