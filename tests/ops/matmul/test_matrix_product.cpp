#include "ops/matmul/matrix_product.h"

#include <cmath>
#include <limits>

#include "device/timeline/timeline.h"
#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

struct Case {
  int64_t batch, rows, depth, columns;
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> a_strides{}, b_strides{}, addend_strides{}, out_strides{};
  bool adds = false;
  MatrixProductOptions options{};
  std::string architecture = "trn2";
};

TensorSpec spec_of_matrices(const Case& c, int64_t rows, int64_t columns,
                            const std::vector<int64_t>& strides) {
  return {{c.batch, rows, columns}, strides, c.dtype};
}

/// One program of one kernel.
BuiltOp build(const Case& c) {
  Builder builder("product", load_architecture(c.architecture));
  std::vector<HbmTensor> operands;
  const auto add = [&](const char* label, const TensorSpec& spec) {
    operands.push_back(argument_tensor(builder, label, spec));
  };
  add("a", spec_of_matrices(c, c.rows, c.depth, c.a_strides));
  add("b", spec_of_matrices(c, c.depth, c.columns, c.b_strides));
  if (c.adds) add("addend", spec_of_matrices(c, c.rows, c.columns, c.addend_strides));
  BuiltOp built;
  built.output = spec_of_matrices(c, c.rows, c.columns, c.out_strides);
  const HbmTensor out = argument_tensor(builder, "out", built.output);
  emit_matrix_product(builder, operands, std::array{out}, c.options);
  built.program = builder.finish();
  return built;
}

void check(const Case& c) {
  HostTensor a(spec_of_matrices(c, c.rows, c.depth, c.a_strides),
               random_values(c.batch * c.rows * c.depth, -1, 1, 1));
  HostTensor b(spec_of_matrices(c, c.depth, c.columns, c.b_strides),
               random_values(c.batch * c.depth * c.columns, -1, 1, 2));
  HostTensor addend(spec_of_matrices(c, c.rows, c.columns, c.addend_strides),
                    random_values(c.batch * c.rows * c.columns, -1, 1, 3));
  std::vector<HostTensor*> inputs{&a, &b};
  if (c.adds) inputs.push_back(&addend);
  HostTensor actual = run_op(build(c), inputs);
  const std::vector<double> left = a.values(), right = b.values(), plus = addend.values();
  std::vector<double> expected;
  for (int64_t i = 0; i < c.batch * c.rows * c.columns; ++i) {
    const int64_t column = i % c.columns, row = i / c.columns % c.rows, n = i / c.columns / c.rows;
    double sum = 0;
    for (int64_t k = 0; k < c.depth; ++k) {
      sum += left[static_cast<size_t>((n * c.rows + row) * c.depth + k)] *
             right[static_cast<size_t>((n * c.depth + k) * c.columns + column)];
    }
    sum *= c.options.scale;
    if (c.adds) sum += c.options.addend_scale * plus[static_cast<size_t>(i)];
    if (c.options.activation == Activation::kRelu) sum = std::max(sum, 0.0);
    expected.push_back(sum);
  }
  // Sums in fp32 of many products, which grow with the root of their number, round at every step.
  expect_close(actual.values(), expected,
               2 * unit_of(c.dtype) + 1e-9 * static_cast<double>(c.depth));
}

TEST(MatrixProduct, OfABatchOfOddSizesIsThatOfFloat64) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    check({3, 130, 67, 5, dtype});
  }
  check({1, 1, 1, 1});
  check({5, 2, 129, 513});
}

TEST(MatrixProduct, TakesTransposedAndRepeatedOperands) {
  check({2, 70, 150, 33, Dtype::kFloat32, {70 * 150, 1, 70}, {150 * 33, 1, 150}});
  check({3, 9, 40, 7, Dtype::kFloat32, {0, 40, 1}, {40 * 7, 7, 1}});
}

TEST(MatrixProduct, ScalesAddsAndAppliesAFunctionBeforeItRounds) {
  Case c{2, 131, 40, 70};
  c.adds = true;
  c.options = {-2, 0.5, Activation::kIdentity, {}};
  check(c);
  c.addend_strides = {70, 0, 1};  // a bias for every column
  check(c);
  c.addend_strides = {131, 1, 0};  // for every row
  c.options.activation = Activation::kRelu;
  check(c);
  c.dtype = Dtype::kBfloat16;
  check(c);
}

TEST(MatrixProduct, IntoAResultWithContiguousColumnsIsComputedAsItsTranspose) {
  Case c{2, 140, 40, 20};
  c.out_strides = {140 * 20, 1, 140};
  c.adds = true;
  check(c);
}

TEST(MatrixProduct, AsItsTransposeAddsANumberPerPartitionAsItLeavesPsum) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16}) {
    for (const Activation function : {Activation::kIdentity, Activation::kRelu}) {
      Case c{2, 140, 40, 700, dtype};
      c.out_strides = {140 * 700, 1, 140};
      c.addend_strides = {700, 0, 1};
      c.adds = true;
      c.options.activation = function;
      for (const char* const name : {"trn1", "trn2"}) {
        c.architecture = name;
        check(c);
      }
      c.options.addend_scale = 0.5;
      check(c);
    }
  }
  Case many{1, 2, 1, 128 * 128 + 5};  // more row tiles than partitions
  many.out_strides = {0, 1, 2};
  many.addend_strides = {0, 0, 1};
  many.adds = true;
  check(many);
}

TEST(MatrixProduct, AsItsTransposeHasTheSameBytes) {
  Case c{1, 140, 300, 200, Dtype::kBfloat16};
  c.adds = true;
  c.addend_strides = {0, 0, 1};
  c.options.activation = Activation::kGelu;
  const auto result = [&] {
    HostTensor a(spec_of_matrices(c, c.rows, c.depth, {}), random_values(140 * 300, -1, 1, 1));
    HostTensor b(spec_of_matrices(c, c.depth, c.columns, {}), random_values(300 * 200, -1, 1, 2));
    HostTensor addend(spec_of_matrices(c, c.rows, c.columns, c.addend_strides),
                      random_values(140 * 200, -1, 1, 3));
    return run_op(build(c), {&a, &b, &addend}).values();
  };
  const std::vector<double> by_rows = result();
  c.out_strides = {0, 1, 140};
  EXPECT_EQ(result(), by_rows);
}

TEST(MatrixProduct, WithADepthThatSbufCannotHoldStreams) {
  Case c{2, 130, 33000, 3};
  c.adds = true;
  c.addend_strides = {0, 0, 1};
  check(c);
  c.out_strides = {390, 1, 130};  // as its transpose
  check(c);
}

/// a @ b on trn1, whose Tensor engine transposes by multiplying, with `value` in row 5 of a.
std::vector<double> product_on_trn1(Dtype dtype, bool exact_transposes, double value) {
  Case c{1, 200, 150, 70, dtype};
  c.architecture = "trn1";
  c.b_strides = {150 * 70, 1, 150};
  c.options.matmul.exact_transposes = exact_transposes;
  std::vector<double> left = random_values(c.rows * c.depth, -1, 1, 1);
  left[static_cast<size_t>(5 * c.depth + 3)] = value;
  HostTensor a(spec_of_matrices(c, c.rows, c.depth, c.a_strides), left);
  HostTensor b(spec_of_matrices(c, c.depth, c.columns, c.b_strides),
               random_values(c.depth * c.columns, -1, 1, 2));
  return run_op(build(c), {&a, &b}).values();
}

TEST(MatrixProduct, TransposesByMultiplyingGiveTheSameBytesForFiniteOperands) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    for (const double value : {0.5, -0.0}) {
      EXPECT_EQ(product_on_trn1(dtype, true, value), product_on_trn1(dtype, false, value));
    }
  }
}

TEST(MatrixProduct, TransposesByMultiplyingSpreadAnInfinityOverTheRowsOfItsTile) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto rows_with_nan = [&](bool exact) {
    const std::vector<double> values = product_on_trn1(Dtype::kBfloat16, exact, infinity);
    std::vector<size_t> rows;
    for (size_t row = 0; row < 200; ++row) {
      if (std::isnan(values[row * 70])) rows.push_back(row);
    }
    return rows;
  };
  EXPECT_TRUE(rows_with_nan(true).empty()) << "row 5 is infinite";
  const std::vector<size_t> rows = rows_with_nan(false);
  ASSERT_EQ(rows.size(), 127U) << "the other rows of the first tile";
  EXPECT_EQ(rows.back(), 127U);
}

TEST(MatrixProduct, TransposesByMultiplyingAreFasterThanThoseOfTheVectorEngine) {
  Case c{1, 128, 768, 768, Dtype::kBfloat16};
  c.architecture = "trn1";
  const Picoseconds exact = simulate(*build(c).program).body;
  c.options.matmul.exact_transposes = false;
  EXPECT_LT(simulate(*build(c).program).body, exact);
  c.architecture = "trn2";  // whose Tensor engine is exact: nothing changes
  const Picoseconds by_default = simulate(*build(c).program).body;
  c.options.matmul.exact_transposes = true;
  EXPECT_EQ(simulate(*build(c).program).body, by_default);
}

TEST(MatrixProduct, OfSizesThatDoNotFitTogetherIsAnError) {
  Builder builder("product", load_architecture("trn2"));
  const HbmTensor a = argument_tensor(builder, "a", {{3, 4}, {}, Dtype::kFloat32});
  const HbmTensor b = argument_tensor(builder, "b", {{5, 6}, {}, Dtype::kFloat32});
  const HbmTensor out = argument_tensor(builder, "out", {{3, 6}, {}, Dtype::kFloat32});
  EXPECT_EQ(
      error_of([&] {
        emit_matrix_product(builder, std::array{a, b}, std::array{out}, {});
      }),
      "matrix_product: the sizes of a, b, addend, other operands and out do not fit together.");
}

}  // namespace
}  // namespace neuron_sim
