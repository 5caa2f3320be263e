#include "ops/pooling/max_pool.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

struct Case {
  int64_t planes, height, width;
  PoolingWindows windows;
  Dtype dtype = Dtype::kFloat32;
};

PoolingWindows regular(int64_t height, int64_t width, int64_t kernel, int64_t stride,
                       int64_t padding, int64_t dilation) {
  const auto axis = [&](int64_t extent) {
    const int64_t reach = dilation * (kernel - 1) + 1;
    return pooling_windows(extent, (extent + 2 * padding - reach) / stride + 1, kernel, stride,
                           padding, dilation);
  };
  return {axis(height), axis(width)};
}

struct Specs {
  TensorSpec input, output, indices;
};
Specs specs_of(const Case& c) {
  const int64_t rows = c.windows.rows.outputs(), columns = c.windows.columns.outputs();
  return {{{1, c.planes, c.height, c.width}, {}, c.dtype},
          {{1, c.planes, rows, columns}, {}, c.dtype},
          {{1, c.planes, rows, columns, 2}, {}, Dtype::kInt32}};
}

/// Maxima and indices by plain loops, as torch defines them.
struct Expected {
  std::vector<double> maxima, words, gradient;
};
Expected oracle(const Case& c, const std::vector<double>& input) {
  Expected result;
  result.gradient.assign(input.size(), 0);
  for (int64_t plane = 0; plane < c.planes; ++plane) {
    for (const auto& row : c.windows.rows.windows) {
      for (const auto& column : c.windows.columns.windows) {
        int64_t best = -1;
        for (int64_t i = 0; i < row.count; ++i) {
          for (int64_t j = 0; j < column.count; ++j) {
            const int64_t y = row.start + i * c.windows.rows.dilation;
            const int64_t x = column.start + j * c.windows.columns.dilation;
            if (y < 0 || x < 0 || y >= c.height || x >= c.width) continue;
            const auto at = [&](int64_t k) {
              return input[static_cast<size_t>(plane * c.height * c.width + k)];
            };
            const int64_t here = y * c.width + x;
            if (best < 0 || at(here) > at(best) || std::isnan(at(here))) best = here;
          }
        }
        const auto index = static_cast<size_t>(plane * c.height * c.width + best);
        result.maxima.push_back(input[index]);
        result.words.push_back(static_cast<double>(best));
        result.words.push_back(0);
        result.gradient[index] += 1;
      }
    }
  }
  return result;
}

void check(const Case& c, std::vector<double> values = {}) {
  const Specs specs = specs_of(c);
  const auto count = static_cast<size_t>(specs.input.elements());
  if (values.empty()) {
    values = random_values(specs.input.elements(), -4, 4, 7);
    for (double& value : values) value = std::round(value);  // ties
  }
  ASSERT_EQ(values.size(), count);
  HostTensor input(specs.input, values);
  Builder builder("max_pool", load_architecture("trn2"));
  const HbmTensor in = argument_tensor(builder, "input", specs.input);
  const HbmTensor out = argument_tensor(builder, "output", specs.output);
  const HbmTensor indices = argument_tensor(builder, "indices", specs.indices);
  emit_max_pool(builder, std::array{in}, std::array{out, indices}, c.windows);
  BuiltOp built;
  built.output = specs.output;
  built.further_outputs = {specs.indices};
  built.program = builder.finish();
  std::vector<HostTensor> actual = run_outputs(built, {&input});
  const Expected expected = oracle(c, input.values());
  expect_close(actual[0].values(), expected.maxima, 0);
  expect_close(actual[1].values(), expected.words, 0);

  HostTensor ones(specs.output, std::vector<double>(expected.maxima.size(), 1));
  Builder backward("max_pool_backward", load_architecture("trn2"));
  const HbmTensor gradient = argument_tensor(backward, "gradient", specs.output);
  const HbmTensor words = argument_tensor(backward, "indices", specs.indices);
  const HbmTensor result = argument_tensor(backward, "grad_input", specs.input);
  emit_max_pool_backward(backward, std::array{gradient, words}, std::array{result}, c.windows);
  BuiltOp reverse;
  reverse.output = specs.input;
  reverse.program = backward.finish();
  expect_close(run_op(reverse, {&ones, &actual[1]}).values(), expected.gradient, 0);
}

TEST(MaxPool, FindsTheFirstMaximumOfEveryWindow) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    check({5, 11, 13, regular(11, 13, 3, 2, 1, 1), dtype});
  }
  check({3, 9, 9, regular(9, 9, 2, 4, 0, 1)});
  check({2, 12, 9, regular(12, 9, 3, 1, 1, 3)});
  check({1, 1, 1, regular(1, 1, 1, 1, 0, 1)});
}

TEST(MaxPool, ReducesRowsOfWindowsFirstWhereTheyOverlap) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    check({5, 11, 13, regular(11, 13, 5, 1, 2, 1), dtype});
  }
  check({3, 7, 4, regular(7, 4, 4, 1, 2, 1)});      // as wide as the plane, one output more
  check({2, 15, 19, regular(15, 19, 5, 2, 2, 3)});  // elements that lie apart
  check({130, 9, 9, regular(9, 9, 7, 1, 3, 1)});
  check({1, 150, 140, regular(150, 140, 6, 1, 3, 1)});  // bands
  check({2, 9, 30, {adaptive_windows(9, 8), pooling_windows(30, 26, 5, 1, 0, 1)}});
}

TEST(MaxPool, TakesMorePlanesThanPartitionsAndBandsOfLargeOnes) {
  check({300, 4, 5, regular(4, 5, 2, 2, 0, 1)});
  check({2, 201, 190, regular(201, 190, 3, 2, 1, 1)});
}

TEST(MaxPool, TakesAdaptiveWindows) {
  check({2, 9, 10, {adaptive_windows(9, 4), adaptive_windows(10, 7)}});
  check({2, 3, 2, {adaptive_windows(3, 5), adaptive_windows(2, 2)}});
}

TEST(MaxPool, PrefersTheLastNanAndTheFirstOfEqualInfinities) {
  std::vector<double> values(36, -INFINITY);
  check({1, 6, 6, regular(6, 6, 3, 2, 1, 1)}, values);
  values[7] = values[8] = NAN;
  values[20] = INFINITY;
  check({1, 6, 6, regular(6, 6, 3, 2, 1, 1)}, values);
  values[19] = values[31] = NAN;
  check({1, 6, 6, regular(6, 6, 5, 1, 2, 1)}, values);
}

TEST(MaxPool, KeepsTheSignOfTheFirstZero) {
  std::vector<double> values(36, 0.0);
  for (size_t i = 0; i < values.size(); i += 2) values[i] = -0.0;
  for (const int64_t kernel : {2, 5}) {
    const Case c{1, 6, 6, regular(6, 6, kernel, 1, 0, 1)};
    const Specs specs = specs_of(c);
    HostTensor input(specs.input, values);
    Builder builder("max_pool", load_architecture("trn2"));
    const HbmTensor in = argument_tensor(builder, "input", specs.input);
    const HbmTensor out = argument_tensor(builder, "output", specs.output);
    emit_max_pool(builder, std::array{in}, std::array{out}, c.windows);
    BuiltOp built;
    built.output = specs.output;
    built.program = builder.finish();
    const std::vector<double> actual = run_op(built, {&input}).values(),
                              expected = oracle(c, values).maxima;
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(std::signbit(actual[i]), std::signbit(expected[i])) << kernel << " " << i;
    }
  }
}

}  // namespace
}  // namespace neuron_sim
