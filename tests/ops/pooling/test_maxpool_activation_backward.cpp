#include "ops/pooling/maxpool_activation_backward.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

struct Function {
  double value, derivative;
};

Function apply_exactly(Activation function, double x) {
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846);
  const double below = 0.5 * std::erfc(-x / std::sqrt(2.0));
  const double root = std::sqrt(x);
  switch (function) {
    case Activation::kRelu: return {x > 0 || std::isnan(x) ? x : 0, x <= 0 ? 0.0 : 1.0};
    case Activation::kExp: return {std::exp(x), std::exp(x)};
    case Activation::kGelu: return {x * below, below + x * density};
    case Activation::kSigmoid: {
      const double y = 1 / (1 + std::exp(-x));
      return {y, y * (1 - y)};
    }
    case Activation::kTanh: return {std::tanh(x), 1 - std::tanh(x) * std::tanh(x)};
    case Activation::kSquare: return {x * x, 2 * x};
    case Activation::kSqrt: return {root, 0.5 / root};
    case Activation::kRsqrt: return {1 / root, -0.5 / (x * root)};
    default: return {x, 1};
  }
}

struct Case {
  std::vector<int64_t> sums{1, 1, 4, 4};
  MaxpoolActivationOptions options{};
  Dtype dtype = Dtype::kFloat32, sums_dtype = Dtype::kFloat32;
  std::vector<int64_t> gradient_strides{}, sums_strides{};

  int64_t pooled(size_t axis) const {
    return (sums[2 + axis] - options.pool_kernel[axis]) / options.pool_stride[axis] + 1;
  }
  TensorSpec gradient() const {
    return {{sums[0], sums[1], pooled(0), pooled(1)}, gradient_strides, dtype};
  }
  TensorSpec sums_spec() const { return {sums, sums_strides, sums_dtype}; }
};

/// As torch: the first maximum of a window gets its gradient, the last NaN if there is one.
std::vector<double> expected(const Case& c, const std::vector<double>& gradient,
                             const std::vector<double>& sums) {
  std::vector<double> result(sums.size(), 0);
  const int64_t width = c.sums[3], plane = c.sums[2] * width;
  const auto& kernel = c.options.pool_kernel;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i), columns = c.pooled(1);
    const int64_t start = at / (c.pooled(0) * columns) * plane +
                          at / columns % c.pooled(0) * c.options.pool_stride[0] * width +
                          at % columns * c.options.pool_stride[1];
    int64_t best = start;
    double largest = -INFINITY;
    for (int64_t e = 0; e < kernel[0] * kernel[1]; ++e) {
      const int64_t place = start + e / kernel[1] * width + e % kernel[1];
      const double value =
          apply_exactly(c.options.activation, sums[static_cast<size_t>(place)]).value;
      if (value > largest || std::isnan(value)) {
        largest = value;
        best = place;
      }
    }
    result[static_cast<size_t>(best)] += gradient[i];
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const double derivative = apply_exactly(c.options.activation, sums[i]).derivative;
    if (c.options.activation == Activation::kRelu) {
      result[i] = derivative == 0 ? 0 : result[i];
    } else if (c.options.activation != Activation::kIdentity) {
      result[i] *= derivative;
    }
  }
  return result;
}

std::vector<double> run(const Architecture& architecture, const Case& c,
                        const std::vector<double>& gradient, const std::vector<double>& sums) {
  HostTensor outer(c.gradient(), gradient), inner(c.sums_spec(), sums);
  return run_op(build_alone(kMaxpoolActivationBackward, architecture, {c.gradient(), c.sums_spec()},
                            c.options),
                {&outer, &inner})
      .values();
}

/// Sums are multiples of 1/8, so that there are many equal maxima and none that only rounding
/// separates.
void check(const Architecture& architecture, const Case& c, double low = -4) {
  SCOPED_TRACE(text(describe("sums", c.sums_spec()), " pool ", c.options.pool_kernel[0], " ",
                    c.options.pool_kernel[1], " stride ", c.options.pool_stride[0], " ",
                    c.options.pool_stride[1], " ", name(c.options.activation), " on ",
                    architecture.name));
  HostTensor gradient(c.gradient(), random_values(c.gradient().elements(), -2, 2, 1));
  std::vector<double> values = random_values(c.sums_spec().elements(), low, 4, 2);
  for (double& value : values) value = std::round(value * 8) / 8;
  HostTensor sums(c.sums_spec(), values);
  const std::vector<double> exact = expected(c, gradient.values(), sums.values());
  expect_close(run(architecture, c, gradient.values(), sums.values()), exact, unit_of(c.dtype) * 4);
}

class MaxpoolActivationBackward : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
  void check_case(const Case& c) const { check(architecture(), c); }
};

TEST_P(MaxpoolActivationBackward, KnowsEveryFunction) {
  for (const Activation function :
       {Activation::kIdentity, Activation::kRelu, Activation::kExp, Activation::kGelu,
        Activation::kSigmoid, Activation::kTanh, Activation::kSquare}) {
    check_case({{2, 5, 6, 8}, {{2, 2}, {2, 2}, function}});
    check_case({{2, 5, 6, 8}, {{3, 2}, {1, 2}, function}});
    check_case({{2, 5, 6, 8}, {{1, 1}, {1, 1}, function}});
  }
  for (const Activation function : {Activation::kSqrt, Activation::kRsqrt}) {
    check(architecture(), {{2, 5, 6, 8}, {{2, 2}, {2, 2}, function}}, 0.25);
  }
}

TEST_P(MaxpoolActivationBackward, TakesWindowsThatOverlapTouchOrLeaveGaps) {
  for (int64_t kernel = 1; kernel <= 4; ++kernel) {
    for (int64_t stride = 1; stride <= 5; ++stride) {
      check_case({{1, 3, 11, 9}, {{kernel, 5 - kernel}, {stride, 3}, Activation::kIdentity}});
      check_case({{1, 3, 11, 9}, {{kernel, 2}, {stride, 1}, Activation::kTanh}});
    }
  }
  check_case({{1, 1, 1, 1}, {{1, 1}, {1, 1}, Activation::kTanh}});
  check_case({{3, 2, 7, 7}, {{7, 7}, {7, 7}, Activation::kRelu}});
}

TEST_P(MaxpoolActivationBackward, CutsPlanesAndRows) {
  check_case({{3, 50, 4, 6}, {{2, 2}, {2, 2}, Activation::kRelu}});
  check_case({{1, 2, 150, 100}, {{3, 3}, {2, 2}, Activation::kSigmoid}});
  check_case({{1, 1, 301, 64}, {{2, 2}, {2, 2}, Activation::kIdentity}});
  check_case({{1, 1, 200, 64}, {{2, 2}, {7, 2}, Activation::kIdentity}});
  check_case({{1, 1, 3, 3000}, {{2, 3}, {1, 2}, Activation::kIdentity}});
  check_case({{1, 2, 60, 60}, {{60, 60}, {60, 60}, Activation::kRelu}});
  check_case({{9, 130, 4, 4}, {{3, 3}, {1, 1}, Activation::kGelu}});
  check_case({{9, 130, 4, 4}, {{3, 3}, {1, 1}, Activation::kTanh}, Dtype::kFloat16});
  check_case({{1, 1, 60, 50}, {{50, 45}, {1, 1}, Activation::kIdentity}});
}

TEST_P(MaxpoolActivationBackward, TakesAnyStridesAndDtypes) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    for (const Dtype sums : {Dtype::kFloat32, dtype}) {
      for (const Activation function :
           {Activation::kIdentity, Activation::kRelu, Activation::kTanh}) {
        for (const int64_t kernel : {2, 3}) {
          Case c{{2, 3, 8, 6}, {{kernel, 2}, {2, 2}, function}, dtype, sums};
          check_case(c);
          c.gradient_strides = {1, 2, 100, 6};
          c.sums_strides = {1, 2, 36, 6};
          check_case(c);
          c.gradient_strides = {0, 0, 0, 0};
          check_case(c);
        }
      }
    }
  }
}

TEST_P(MaxpoolActivationBackward, SpecialValuesAreAsInTorch) {
  const Case c{{1, 1, 2, 8}, {{2, 2}, {2, 2}, Activation::kIdentity}};
  // Two NaN; a NaN before infinity; nothing but minus infinity; an infinite gradient.
  const std::vector<double> sums{NAN, 1,   NAN, 2,        -INFINITY, -INFINITY, 1, 4,
                                 2,   NAN, 3,   INFINITY, -INFINITY, -INFINITY, 4, 3};
  EXPECT_EQ(run(architecture(), c, {1, 2, 3, INFINITY}, sums),
            (std::vector<double>{0, 0, 2, 0, 3, 0, 0, INFINITY, 0, 1, 0, 0, 0, 0, 0, 0}));
  const Case relu{{1, 1, 1, 4}, {{1, 2}, {1, 2}, Activation::kRelu}};
  expect_close(run(architecture(), relu, {INFINITY, NAN}, {-1, -2, 3, NAN}), {0, 0, 0, NAN}, 0);
}

TEST_P(MaxpoolActivationBackward, FitsASmallMemory) {
  Architecture small = architecture();
  small.limits.sbuf_usable = {24 * 1024};
  check(small, {{1, 3, 40, 70}, {{3, 3}, {2, 2}, Activation::kGelu}});
  check(small, {{1, 3, 21, 170}, {{2, 2}, {2, 2}, Activation::kTanh}});
  const Case c{{1, 1, 4, 900}, {{4, 2}, {4, 2}, Activation::kTanh}};
  small.limits.sbuf_usable = {42808};
  check(small, c);
  small.limits.sbuf_usable = {42807};
  EXPECT_EQ(
      error_of([&] {
        build_alone(kMaxpoolActivationBackward, small, {c.gradient(), c.sums_spec()}, c.options);
      }),
      text("maxpool_activation_backward: a row of 900 sums with windows of 4 rows needs ",
           "42808 bytes per partition, sbuf has 42807 on ", architecture().name, "."));
}

TEST_P(MaxpoolActivationBackward, RejectsWhatDoesNotMatch) {
  const auto error = [&](const TensorSpec& gradient, const TensorSpec& sums,
                         const MaxpoolActivationOptions& options) {
    return error_of([&] {
      build_alone(kMaxpoolActivationBackward, architecture(), {gradient, sums}, options);
    });
  };
  const TensorSpec sums{{2, 3, 4, 4}, {}}, gradient{{2, 3, 2, 2}, {}};
  const MaxpoolActivationOptions pool{{2, 2}, {2, 2}};
  EXPECT_EQ(error({{2, 3, 2, 3}, {}}, sums, pool),
            "maxpool_activation_backward: dimension 3 of gradient [2, 3, 2, 3] float32 is 3, "
            "expected 2.");
  EXPECT_EQ(error({{2, 2}, {}}, sums, pool),
            "maxpool_activation_backward: gradient [2, 2] float32 has 2 dimensions, expected 4.");
  EXPECT_EQ(error(gradient, {{2, 3, 4, 4}, {}, Dtype::kFloat16}, pool),
            "maxpool_activation_backward: gradient [2, 3, 2, 2] float32 and sums [2, 3, 4, 4] "
            "float16 have different dtypes.");
  EXPECT_EQ(error(gradient, sums, {{2, 5}, {2, 2}}),
            "maxpool_activation_backward: a pooling window of 5 with stride 2 does not fit "
            "dimension 3 of sums [2, 3, 4, 4] float32.");
  EXPECT_EQ(build_alone(kMaxpoolActivationBackward, architecture(),
                        {{{0, 3, 2, 2}, {}}, {{0, 3, 4, 4}, {}}}, pool)
                .program,
            nullptr);
}

INSTANTIATE_TEST_SUITE_P(Architectures, MaxpoolActivationBackward,
                         ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
