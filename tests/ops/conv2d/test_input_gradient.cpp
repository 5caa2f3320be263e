#include "ops/conv2d/input_gradient.h"

#include "tests/ops/conv2d_gradient_oracle.h"

namespace neuron_sim {
namespace {

using conv2d_gradient_oracle::Case;

void check(const Architecture& architecture, const Case& c) {
  SCOPED_TRACE(conv2d_gradient_oracle::describe_case(c) + " on " + architecture.name);
  HostTensor gradient(c.gradient(), random_values(c.gradient().elements(), -1, 1, 1));
  HostTensor weight(c.weight(), random_values(c.weight().elements(), -1, 1, 2));
  HostTensor actual = run_op(build_alone(kConv2dInputGradient, architecture,
                                         {c.gradient(), c.weight(), c.input()}, c.geometry),
                             {&gradient, &weight});
  const std::vector<double> g = gradient.values(), w = weight.values();
  std::vector<double> exact(static_cast<size_t>(c.input().elements())), magnitude = exact;
  conv2d_gradient_oracle::for_products(c, [&](int64_t out, int64_t in, int64_t tap) {
    const double product = g[static_cast<size_t>(out)] * w[static_cast<size_t>(tap)];
    exact[static_cast<size_t>(in)] += product;
    magnitude[static_cast<size_t>(in)] += std::abs(product);
  });
  const int64_t terms = c.filters / c.geometry.groups * c.kernel_h * c.kernel_w;
  conv2d_gradient_oracle::expect_sums(actual.values(), exact, magnitude, terms, c.dtype);
}

class Conv2dInputGradient : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
  void check_case(const Case& c) const { check(architecture(), c); }
};

TEST_P(Conv2dInputGradient, TakesAnyGeometry) {
  for (const Case& c : conv2d_gradient_oracle::geometries()) check_case(c);
}

TEST_P(Conv2dInputGradient, TakesEveryKernelThatFits) {
  for (const Case& c : conv2d_gradient_oracle::kKernels) check_case(c);
  check_case({1, 3, 40, 5, 4, 11, 2, {{4, 1}, {2, 0}, {1, 1}, 1}});
}

TEST_P(Conv2dInputGradient, CutsChannelsImagesAndPixels) {
  check_case({3, 130, 6, 5, 140, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}});
  check_case({1, 4, 150, 70, 3, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}});
  check_case({1, 2, 150, 150, 2, 3, 3, {{2, 2}, {1, 1}, {1, 1}, 1}});
  check_case({2, 1, 3, 1100, 1, 2, 5, {{1, 1}, {0, 2}, {1, 1}, 1}});
  check_case({37, 2, 5, 4, 3, 2, 2});
}

TEST_P(Conv2dInputGradient, KeepsGroupsApart) {
  for (const Case& c : conv2d_gradient_oracle::kGroups) check_case(c);
  check_case({1, 150, 4, 4, 150, 2, 2, {{2, 2}, {1, 1}, {1, 1}, 150}, Dtype::kBfloat16});
}

TEST_P(Conv2dInputGradient, InfiniteWeightsStayInTheirGroup) {
  const Case c{1, 4, 4, 4, 2, 1, 1, {{1, 1}, {0, 0}, {1, 1}, 2}};
  HostTensor ones(c.gradient(), std::vector<double>(32, 1));
  HostTensor infinite(c.weight(), {INFINITY, 1, 1, 1});
  std::vector<double> exact(64, 1);
  std::fill_n(exact.begin(), 16, INFINITY);
  EXPECT_EQ(run_op(build_alone(kConv2dInputGradient, architecture(),
                               {c.gradient(), c.weight(), c.input()}, c.geometry),
                   {&ones, &infinite})
                .values(),
            exact);
}

TEST_P(Conv2dInputGradient, NanSpreadsToGroupsThatShareTheArrayAtItsPlace) {
  Case c{1, 4, 4, 4, 2, 1, 1, {{1, 1}, {0, 0}, {1, 1}, 2}};
  std::vector<double> values(32, 1);
  values[0] = NAN;  // filter 0, of group 0
  HostTensor gradient(c.gradient(), values), weight(c.weight(), std::vector<double>(4, 1));
  const std::vector<double> actual =
      run_op(build_alone(kConv2dInputGradient, architecture(),
                         {c.gradient(), c.weight(), c.input()}, c.geometry),
             {&gradient, &weight})
          .values();
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(std::isnan(actual[i]), i % 16 == 0) << i;
  }
}

TEST_P(Conv2dInputGradient, TakesAnyStridesAndDtypes) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    Case c{2, 3, 6, 7, 4, 3, 2, {{2, 1}, {1, 0}, {1, 1}, 1}, dtype};
    check_case(c);
    c.gradient_strides = {1, 2 * 3 * 6, 2, 6};
    c.weight_strides = {1, 24, 4, 12};
    check_case(c);
    c.gradient_strides = {0, 0, 0, 0};
    check_case(c);
  }
}

TEST_P(Conv2dInputGradient, FitsASmallMemory) {
  Architecture small = architecture();
  small.limits.sbuf_usable = {24 * 1024};
  check(small, {2, 20, 40, 33, 18, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}});
  check(small, {2, 200, 12, 12, 260, 3, 3, {{2, 2}, {1, 1}, {1, 1}, 1}});
  const Case c{1, 8, 9, 9, 130, 9, 9};
  small.limits.sbuf_usable = {5296};
  check(small, c);
  small.limits.sbuf_usable = {5295};
  EXPECT_EQ(
      error_of([&] {
        build_alone(kConv2dInputGradient, small, {c.gradient(), c.weight(), c.input()}, c.geometry);
      }),
      text("conv2d_maxpool_backward for an input [1, 8, 9, 9] and a kernel 9 x 9 needs ",
           "5296 bytes per partition for its smallest tiles, sbuf has 5295 on ",
           architecture().name, "."));
}

TEST_P(Conv2dInputGradient, AnEmptyBatchHasNoProgram) {
  const Case c{0, 3, 5, 5, 4, 3, 3};
  const BuiltOp built = build_alone(kConv2dInputGradient, architecture(),
                                    {c.gradient(), c.weight(), c.input()}, c.geometry);
  EXPECT_EQ(built.program, nullptr);
  EXPECT_EQ(built.output.shape, (std::vector<int64_t>{0, 3, 5, 5}));
}

INSTANTIATE_TEST_SUITE_P(Architectures, Conv2dInputGradient,
                         ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
