#include "ops/conv2d/weight_gradient.h"

#include "tests/ops/conv2d_gradient_oracle.h"

namespace neuron_sim {
namespace {

using conv2d_gradient_oracle::Case;
using conv2d_gradient_oracle::expect_sums;

void check(const Architecture& architecture, const Case& c) {
  SCOPED_TRACE(conv2d_gradient_oracle::describe_case(c) + " on " + architecture.name);
  HostTensor gradient(c.gradient(), random_values(c.gradient().elements(), -1, 1, 1));
  HostTensor input(c.input(), random_values(c.input().elements(), -1, 1, 2));
  std::vector<HostTensor> actual =
      run_outputs(build_alone(kConv2dWeightGradient, architecture,
                              {c.gradient(), c.input(), c.weight()}, c.geometry),
                  {&gradient, &input});
  const std::vector<double> g = gradient.values(), x = input.values();
  std::vector<double> exact(static_cast<size_t>(c.weight().elements())), magnitude = exact;
  conv2d_gradient_oracle::for_products(c, [&](int64_t out, int64_t in, int64_t tap) {
    const double product = g[static_cast<size_t>(out)] * x[static_cast<size_t>(in)];
    exact[static_cast<size_t>(tap)] += product;
    magnitude[static_cast<size_t>(tap)] += std::abs(product);
  });
  const int64_t pixels = c.output(0) * c.output(1), terms = c.images * pixels;
  expect_sums(actual[0].values(), exact, magnitude, terms, c.dtype);
  exact.assign(static_cast<size_t>(c.filters), 0);
  magnitude = exact;
  for (size_t i = 0; i < g.size(); ++i) {
    const size_t filter = i / static_cast<size_t>(pixels) % static_cast<size_t>(c.filters);
    exact[filter] += g[i];
    magnitude[filter] += std::abs(g[i]);
  }
  expect_sums(actual[1].values(), exact, magnitude, terms, c.dtype);
}

class Conv2dWeightGradient : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
  void check_case(const Case& c) const { check(architecture(), c); }
};

TEST_P(Conv2dWeightGradient, TakesAnyGeometry) {
  for (const Case& c : conv2d_gradient_oracle::geometries()) check_case(c);
}

TEST_P(Conv2dWeightGradient, TakesEveryKernelThatFits) {
  for (const Case& c : conv2d_gradient_oracle::kKernels) check_case(c);
  check_case({1, 60, 40, 8, 4, 11, 7, {{4, 1}, {2, 0}, {1, 1}, 1}});
}

TEST_P(Conv2dWeightGradient, CutsChannelsImagesAndPixels) {
  check_case({3, 130, 6, 5, 140, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}});
  check_case({1, 4, 150, 140, 3, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}});
  check_case({2, 2, 3, 300, 2, 2, 5, {{1, 1}, {0, 2}, {1, 1}, 1}});
  check_case({1, 3, 200, 5, 2, 5, 2, {{1, 1}, {0, 2}, {1, 1}, 1}});
  check_case({37, 2, 5, 4, 3, 2, 2});
}

TEST_P(Conv2dWeightGradient, KeepsGroupsApart) {
  for (const Case& c : conv2d_gradient_oracle::kGroups) check_case(c);
}

TEST_P(Conv2dWeightGradient, OneNanSpoilsOnlyWhatReadsIt) {
  Case c{1, 4, 4, 4, 4, 1, 1, {{1, 1}, {0, 0}, {1, 1}, 2}};
  std::vector<double> values(64, 1);
  values[5] = NAN;  // channel 0
  HostTensor input(c.input(), values), gradient(c.gradient(), std::vector<double>(64, 1));
  std::vector<HostTensor> actual =
      run_outputs(build_alone(kConv2dWeightGradient, architecture(),
                              {c.gradient(), c.input(), c.weight()}, c.geometry),
                  {&gradient, &input});
  expect_close(actual[0].values(), {NAN, 16, NAN, 16, 16, 16, 16, 16}, 0);
  expect_close(actual[1].values(), {16, 16, 16, 16}, 0);
}

TEST_P(Conv2dWeightGradient, TakesAnyStridesAndDtypes) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    Case c{2, 3, 6, 7, 4, 3, 2, {{2, 1}, {1, 0}, {1, 1}, 1}, dtype};
    check_case(c);
    c.gradient_strides = {1, 2 * 3 * 6, 2, 6};
    c.input_strides = {1, 84, 14, 2};
    check_case(c);
    c.gradient_strides = {0, 0, 0, 0};
    check_case(c);
  }
}

TEST_P(Conv2dWeightGradient, FitsASmallMemory) {
  Architecture small = architecture();
  small.limits.sbuf_usable = {48 * 1024};
  check(small, {2, 20, 40, 33, 18, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}});
  check(small, {2, 200, 12, 12, 260, 3, 3, {{2, 2}, {1, 1}, {1, 1}, 1}});
  check(small, {2, 64, 12, 12, 64, 5, 5, {{2, 2}, {1, 1}, {1, 1}, 64}});
  const Case c{1, 8, 9, 9, 130, 9, 9};
  // Without an exact transpose on the Tensor engine, nine dense columns more.
  const int64_t needed = architecture().features.exact_transpose ? 5024 : 5060;
  small.limits.sbuf_usable = {needed};
  check(small, c);
  small.limits.sbuf_usable = {needed - 1};
  EXPECT_EQ(error_of([&] {
              build_alone(kConv2dWeightGradient, small, {c.gradient(), c.input(), c.weight()},
                          c.geometry);
            }),
            text("conv2d_maxpool_backward for a weight [130, 8, 9, 9] needs ", needed,
                 " bytes per partition for its smallest tiles, sbuf has ", needed - 1, " on ",
                 architecture().name, "."));
}

TEST_P(Conv2dWeightGradient, AnEmptyBatchGivesZeros) {
  const Case c{0, 3, 5, 5, 4, 3, 3};
  HostTensor empty(c.gradient(), {}), none(c.input(), {});
  std::vector<HostTensor> actual =
      run_outputs(build_alone(kConv2dWeightGradient, architecture(),
                              {c.gradient(), c.input(), c.weight()}, c.geometry),
                  {&empty, &none});
  EXPECT_EQ(actual[0].values(), std::vector<double>(108, 0));
  EXPECT_EQ(actual[1].values(), std::vector<double>(4, 0));
}

TEST_P(Conv2dWeightGradient, RejectsWhatDoesNotMatch) {
  const Case c{2, 4, 5, 5, 6, 3, 3};
  const auto error = [&](const TensorSpec& gradient, const TensorSpec& weight,
                         const Conv2dGeometry& geometry) {
    return error_of([&] {
      build_alone(kConv2dWeightGradient, architecture(), {gradient, c.input(), weight}, geometry);
    });
  };
  const TensorSpec gradient = c.gradient(), weight = c.weight();
  EXPECT_EQ(error({{2, 6, 3, 4}, {}}, weight, {}),
            "conv2d_weight_gradient: dimension 3 of gradient [2, 6, 3, 4] float32 is 4, "
            "expected 3.");
  EXPECT_EQ(error(gradient, {{6, 2, 3, 3}, {}}, {}),
            "conv2d_weight_gradient: dimension 1 of input [2, 4, 5, 5] float32 is 4, expected 2.");
  EXPECT_EQ(error(gradient, {{6, 1, 3, 3}, {}}, {.groups = 4}),
            "conv2d_weight_gradient: groups 4 must divide the 6 output channels of weight.");
  EXPECT_EQ(error(gradient, {{6, 4, 3, 0}, {}}, {}),
            "conv2d_weight_gradient: dimension 3 of weight [6, 4, 3, 0] float32 is empty.");
  EXPECT_EQ(error(gradient, weight, {.stride = {0, 1}}),
            "conv2d_weight_gradient: stride 0 must be at least 1.");
  EXPECT_EQ(error(gradient, weight, {.dilation = {1, (int64_t{1} << 31) + 1}}),
            "conv2d_weight_gradient: dilation 2147483649 must be at most 2147483648.");
  EXPECT_EQ(error(gradient, weight, {.dilation = {1, int64_t{1} << 31}}),
            "conv2d_weight_gradient: the kernel width of 4294967297 (dilated) exceeds the padded "
            "input of 5.");
  EXPECT_EQ(error(gradient, weight, {.dilation = {1, 3}}),
            "conv2d_weight_gradient: the kernel width of 7 (dilated) exceeds the padded input of "
            "5.");
  EXPECT_EQ(error({{2, 6, 3, 3}, {}, Dtype::kInt32}, weight, {}),
            "conv2d_weight_gradient: gradient [2, 6, 3, 3] int32 has a dtype other than float32, "
            "float16 and bfloat16.");
}

INSTANTIATE_TEST_SUITE_P(Architectures, Conv2dWeightGradient,
                         ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
