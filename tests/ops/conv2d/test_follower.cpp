#include "ops/conv2d/follower.h"

#include "tests/ops/conv2d_bench.h"
#include "tests/ops/pointwise/evaluated_expression.h"

namespace neuron_sim {
namespace {

using conv2d_bench::Convolution;

/// relu((sums + bias) scale + shift + residual), in fp32 and in bf16.
Expression residual_block() {
  Expression e;
  const ElementValue sum = e.input(0) * e.input(1) + e.input(2) + e.input(3);
  const ElementValue result = maximum(sum, e.constant(0));
  e.add_result(result);
  e.add_result(result);
  return e;
}

/// Compares the kernel with sums in double and the expression in fp32.
void check_block(const Convolution& c) {
  SCOPED_TRACE(text(describe("input", c.input()), ", ", describe("weight", c.weight()), ", groups ",
                    c.groups, ", sbuf ", c.sbuf_bytes));
  const std::vector<int64_t> shape{c.size.images, c.filters, c.output_h(), c.output_w()};
  const TensorSpec per_filter{shape, {0, 1, 0, 0}}, whole{shape, {}};
  const std::vector<TensorSpec> specs{c.input(),  c.weight(), c.bias(),
                                      per_filter, per_filter, whole};
  const Conv2dMaxpoolOptions options{.stride = c.stride.array(),
                                     .padding = c.padding.array(),
                                     .dilation = c.dilation.array(),
                                     .groups = c.groups,
                                     .output_dtype = Dtype::kFloat32};
  const Expression expression = residual_block();
  const EmitKernel emit = [&](Builder& builder, HbmTensors operands, HbmTensors results) {
    emit_followed_conv2d(builder, operands.first(3), operands.subspan(3), results, expression, {},
                         options);
  };
  const BuiltOp built =
      build_kernel(architecture_of(c), emit, specs, {whole, {shape, {}, Dtype::kBfloat16}});
  std::vector<conv2d_bench::HostTensor> tensors;
  std::vector<std::byte*> arguments;
  for (const TensorSpec& spec : specs) {
    tensors.push_back(conv2d_bench::make_tensor(spec, static_cast<uint32_t>(tensors.size()) + 1));
  }
  for (auto& tensor : tensors) arguments.push_back(tensor.bytes.data());
  const auto count = static_cast<size_t>(whole.elements());
  std::vector<std::byte> wide(count * 4, std::byte{0xA5}), narrow(count * 2, std::byte{0xA5});
  arguments.insert(arguments.end(), {wide.data(), narrow.data()});
  CoreMemory memory(*built.program->architecture);
  ThreadPool pool(2);
  execute(*built.program, make_plan(*built.program), memory, arguments, pool);

  const int64_t pixels = c.output_h() * c.output_w();
  std::vector<double> scale;
  for (int64_t i = 0; i < c.size.images * c.filters; ++i) {
    const auto filter = static_cast<size_t>(i % c.filters);
    const std::vector<double> sums = convolve(c, tensors[0], tensors[1], tensors[2].values[filter],
                                              i / c.filters, i % c.filters, scale);
    for (int64_t p = 0; p < pixels; ++p) {
      const auto at = static_cast<size_t>(i * pixels + p);
      const double sum = sums[static_cast<size_t>(p)] * tensors[3].values[at] +
                         tensors[4].values[at] + tensors[5].values[at];
      float found = 0, rounded = 0;
      load_floats(wide.data() + at * 4, Dtype::kFloat32, 4, &found, 1);
      load_floats(narrow.data() + at * 2, Dtype::kBfloat16, 2, &rounded, 1);
      ASSERT_NEAR(found, std::max(sum, 0.0), 1e-5) << i << ", " << p;
      ASSERT_NEAR(rounded, found, 0x1p-8 * std::abs(found)) << i << ", " << p;
    }
  }
}

TEST(Conv2dFollower, AppliesTheExpressionToEveryOutput) {
  for (const char* name : {"trn1", "trn2"}) {
    Convolution c{.size = {2, 5, 9, 7}, .filters = 33, .padding = 1, .architecture = name};
    check_block(c);
    c.stride = 2;
    check_block(c);
  }
}

TEST(Conv2dFollower, LoadsValuesOfSeveralBlocksOfFilters) {
  check_block({.size = {1, 3, 4, 4}, .filters = 300});
  check_block({.size = {1, 2, 2, 2}, .filters = 17 * 128 + 5, .kernel = 1});
}

TEST(Conv2dFollower, TakesGroupsThatShareTheArray) {
  check_block({.size = {2, 24, 6, 5}, .filters = 48, .padding = 1, .groups = 12});
  check_block({.size = {1, 140, 5, 5}, .filters = 140, .padding = 1, .groups = 140});
}

TEST(Conv2dFollower, CutsWhatDoesNotFitSbuf) {
  Convolution c{.size = {2, 40, 30, 31},
                .filters = 150,
                .padding = 1,
                .architecture = "trn1",
                .sbuf_bytes = 24 * 1024};
  check_block(c);
  c.filters = 20;
  c.sbuf_bytes = 12 * 1024;
  check_block(c);
}

TEST(Conv2dFollower, SpreadsShortRowsOnChip) {
  Convolution c{.size = {9, 130, 7, 7},
                .filters = 4,
                .padding = conv2d_bench::Pair(1, 2),
                .dtype = Dtype::kBfloat16,
                .wide_output = true,
                .architecture = "trn1"};
  check_convolution(c);
  c.size.height = 40;
  check_convolution(c);
}

TEST(Conv2dFollower, ValuesPerFilterAreAddedLast) {
  Expression e;
  e.add_result(e.input(0) * e.input(1) + e.input(2) + e.input(3));
  const Expression moved = with_filter_values_last(e, {true, true, false});
  const ExpressionStep& last = moved.steps()[static_cast<size_t>(moved.results().front())];
  EXPECT_EQ(moved.steps()[static_cast<size_t>(last.b)].input, 2);
  EXPECT_EQ(evaluated(moved, {2, 3, 0.5F, 4})[static_cast<size_t>(moved.results().front())], 10.5F);
  // Nothing else is moved.
  EXPECT_EQ(with_filter_values_last(e, {true, false, false}).key(), e.key());
}

}  // namespace
}  // namespace neuron_sim
