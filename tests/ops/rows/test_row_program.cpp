#include "ops/rows/row_program.h"

#include <algorithm>

#include "ops/rows/rms_norm.h"
#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

using EmitRows = bool (*)(Builder&, HbmTensors, HbmTensors, const RowProgram&);

bool chosen(Builder& builder, HbmTensors operands, HbmTensors results, const RowProgram& program) {
  emit_row_program(builder, operands, results, program);
  return true;
}

bool fused(Builder& builder, HbmTensors operands, HbmTensors results, const RowProgram& program) {
  bool fits = false;
  builder.scope([&] { fits = emit_fused_rows(builder, operands, results, program); });
  return fits;
}

bool streamed(Builder& builder, HbmTensors operands, HbmTensors results,
              const RowProgram& program) {
  emit_streamed_rows(builder, operands, results, program);
  return true;
}

EmitKernel kernel_of(RowProgram program, EmitRows emit) {
  return [program = std::move(program), emit](Builder& builder, HbmTensors operands,
                                              HbmTensors results) {
    EXPECT_TRUE(emit(builder, operands, results, program));
  };
}

/// exp(x - largest) / sum, and the sum of each row.
RowProgram softmax(const std::vector<bool>& reduced) {
  RowProgram program{.reduced = reduced};
  RowStage largest{.op = AluOp::kMaximum};
  largest.value.add_result(largest.value.input(0));
  RowStage sum{};
  sum.value.add_result(call(Activation::kExp, sum.value.input(0) - sum.value.input(1)));
  program.stages = {largest, sum};
  Expression result, number;
  result.add_result(call(Activation::kExp, result.input(0) - result.input(1)) / result.input(2));
  number.add_result(number.input(2) * 1.0);
  program.results = {result, number};
  return program;
}

/// (x - mean) * rsqrt(variance + 1/8) * scale, for operands x and scale.
RowProgram norm(const std::vector<bool>& reduced, double elements) {
  RowProgram program{.reduced = reduced};
  RowStage mean{}, variance{};
  mean.value.add_result(mean.value.input(0));
  mean.finish.add_result(mean.finish.input(0) * (1 / elements));
  const ElementValue centred = variance.value.input(0) - variance.value.input(2);
  variance.value.add_result(centred * centred);
  variance.finish.add_result(
      call(Activation::kRsqrt, variance.finish.input(0) * (1 / elements) + 0.125));
  program.stages = {mean, variance};
  Expression result;
  result.add_result((result.input(0) - result.input(2)) * result.input(3) * result.input(1));
  program.results = {result};
  return program;
}

/// x * rsqrt(mean(x^2) + 1/8) * weight, and the factor of each row.
RowProgram root_mean_square(const std::vector<bool>& reduced, int64_t elements) {
  RowProgram program{{inverse_root_mean_square(elements, 0.125)}, {}, reduced};
  Expression result, factor;
  result.add_result(result.input(0) * result.input(2) * result.input(1));
  factor.add_result(factor.input(2));
  program.results = {result, factor};
  return program;
}

/// Row-major elements by rows: every row's elements, in order.
std::vector<std::vector<size_t>> rows_of(const std::vector<int64_t>& shape,
                                         const std::vector<bool>& reduced) {
  int64_t rows = 1;
  for (size_t d = 0; d < shape.size(); ++d) rows *= reduced[d] ? 1 : shape[d];
  std::vector<std::vector<size_t>> result(static_cast<size_t>(rows));
  const int64_t count = TensorSpec{shape, {}}.elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i, row = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (!reduced[d]) {
        row += left % shape[d] * stride;
        stride *= shape[d];
      }
      left /= shape[d];
    }
    result[static_cast<size_t>(row)].push_back(static_cast<size_t>(i));
  }
  return result;
}

struct Case {
  std::vector<int64_t> shape;
  std::vector<bool> reduced;
  std::vector<int64_t> strides{};
  Dtype dtype = Dtype::kFloat32;

  std::vector<int64_t> row_shape() const {
    std::vector<int64_t> result = shape;
    for (size_t d = 0; d < shape.size(); ++d) result[d] = reduced[d] ? 1 : shape[d];
    return result;
  }
};

class RowProgramTest : public ::testing::TestWithParam<const char*> {
 protected:
  void check_softmax(const Case& test, EmitRows emit) const {
    const TensorSpec spec{test.shape, test.strides, test.dtype};
    SCOPED_TRACE(describe("operand", spec));
    HostTensor operand(spec, random_values(spec.elements(), -6, 6));
    std::vector<HostTensor> actual =
        run_kernel(load_architecture(GetParam()), kernel_of(softmax(test.reduced), emit),
                   {&operand}, {spec, {test.row_shape(), {}}});
    const std::vector<double> x = operand.values();
    std::vector<double> expected(x.size()), sums;
    for (const std::vector<size_t>& row : rows_of(test.shape, test.reduced)) {
      double largest = -INFINITY, sum = 0;
      for (const size_t i : row) largest = std::max(largest, x[i]);
      for (const size_t i : row) sum += std::exp(x[i] - largest);
      for (const size_t i : row) expected[i] = std::exp(x[i] - largest) / sum;
      sums.push_back(sum);
    }
    expect_close(actual[0].values(), expected, unit_of(test.dtype));
    expect_close(actual[1].values(), sums, 1e-5);
  }

  void check_root_mean_square(const Case& test, EmitRows emit) const {
    const TensorSpec spec{test.shape, test.strides, test.dtype};
    SCOPED_TRACE(describe("operand", spec));
    HostTensor operand(spec, random_values(spec.elements(), -6, 6, 1)),
        weight({test.shape, {0, 1}}, random_values(spec.elements(), 1, 2, 2));
    const auto rows = rows_of(test.shape, test.reduced);
    std::vector<HostTensor> actual = run_kernel(
        load_architecture(GetParam()),
        kernel_of(root_mean_square(test.reduced, static_cast<int64_t>(rows.front().size())), emit),
        {&operand, &weight}, {{test.shape, {}}, {test.row_shape(), {}}});
    const std::vector<double> x = operand.values(), weights = weight.values();
    std::vector<double> expected(x.size()), factors;
    for (const std::vector<size_t>& row : rows) {
      double square = 0;
      for (const size_t i : row) square += x[i] * x[i] / static_cast<double>(row.size());
      factors.push_back(1 / std::sqrt(square + 0.125));
      for (const size_t i : row) expected[i] = x[i] * factors.back() * weights[i];
    }
    expect_close(actual[0].values(), expected, 1e-5);
    expect_close(actual[1].values(), factors, 1e-5);
  }

  void check_norm(const Case& test, const std::vector<int64_t>& scale_strides,
                  EmitRows emit) const {
    const TensorSpec spec{test.shape, test.strides, test.dtype};
    SCOPED_TRACE(describe("operand", spec));
    HostTensor operand(spec, random_values(spec.elements(), -6, 6, 1)),
        scale({test.shape, scale_strides}, random_values(spec.elements(), 1, 2, 2));
    const auto rows = rows_of(test.shape, test.reduced);
    const auto count = static_cast<double>(rows.front().size());
    HostTensor actual =
        run_kernel(load_architecture(GetParam()), kernel_of(norm(test.reduced, count), emit),
                   {&operand, &scale}, {{test.shape, {}}})
            .front();
    const std::vector<double> x = operand.values(), factors = scale.values();
    std::vector<double> expected(x.size());
    for (const std::vector<size_t>& row : rows) {
      double mean = 0, variance = 0;
      for (const size_t i : row) mean += x[i] / count;
      for (const size_t i : row) variance += (x[i] - mean) * (x[i] - mean) / count;
      for (const size_t i : row) {
        expected[i] = (x[i] - mean) / std::sqrt(variance + 0.125) * factors[i];
      }
    }
    expect_close(actual.values(), expected, 1e-5);
  }
};

TEST_P(RowProgramTest, RowsInSbufAndStreamedRowsEqualFloat64) {
  for (const EmitRows emit : {fused, streamed}) {
    check_softmax({{1, 1}, {false, true}}, emit);
    check_softmax({{300, 7}, {false, true}}, emit);
    check_softmax({{129, 1025}, {false, true}}, emit);
    check_softmax({{5000, 3}, {false, true}}, emit);
    check_softmax({{31, 40}, {true, false}}, emit);
    check_softmax({{9, 5, 11}, {false, true, false}}, emit);
    check_softmax({{9, 5, 11}, {true, false, true}, {1, 99, 9}}, emit);
    check_softmax({{700}, {true}}, emit);
    check_softmax({{140, 65}, {false, true}, {}, Dtype::kBfloat16}, emit);
    check_softmax({{2, 3, 4, 5, 6}, {false, true, false, true, false}}, emit);
  }
}

TEST_P(RowProgramTest, RowsAreScaledByTheirRootMeanSquares) {
  for (const EmitRows emit : {fused, streamed}) {
    check_root_mean_square({{1, 1}, {false, true}}, emit);
    check_root_mean_square({{300, 7}, {false, true}}, emit);
    check_root_mean_square({{129, 1025}, {false, true}}, emit);
    check_root_mean_square({{31, 40}, {true, false}}, emit);
    check_root_mean_square({{140, 700}, {false, true}, {}, Dtype::kBfloat16}, emit);
  }
}

TEST_P(RowProgramTest, OperandsRepeatAlongRowsAndColumns) {
  for (const EmitRows emit : {fused, streamed}) {
    check_norm({{300, 70}, {false, true}}, {0, 1}, emit);
    check_norm({{300, 70}, {false, true}}, {1, 0}, emit);
    check_norm({{300, 70}, {false, true}}, {0, 0}, emit);
    check_norm({{4, 6, 33}, {false, true, true}}, {0, 1, 0}, emit);
    check_norm({{4, 6, 33}, {true, false, true}}, {0, 1, 0}, emit);
    check_norm({{260, 3}, {false, true}, {1, 260}, Dtype::kFloat16}, {0, 1}, emit);
  }
}

TEST_P(RowProgramTest, HeadsOfATokenMayShareOperandsAndSoMayTokens) {
  const std::vector<bool> rows{false, false, true};
  for (const EmitRows emit : {fused, streamed}) {
    check_norm({{300, 7, 33}, rows}, {33, 0, 1}, emit);
    check_norm({{300, 7, 33}, rows}, {0, 33, 1}, emit);
    check_norm({{300, 7, 33}, rows, {33, 9900, 1}}, {33, 0, 1}, emit);
    check_norm({{127, 18, 40}, rows}, {40, 0, 1}, emit);
    check_norm({{128, 53, 40}, rows}, {40, 0, 1}, emit);
    check_norm({{6, 260, 40}, rows}, {0, 40, 1}, emit);
    check_norm({{129, 3, 520}, rows}, {520, 0, 1}, emit);
    check_softmax({{200, 6, 64}, rows, {64, 12800, 1}, Dtype::kBfloat16}, emit);
  }
}

TEST_P(RowProgramTest, RowsThatSbufCannotHoldAreStreamed) {
  check_softmax({{3, 60001}, {false, true}}, chosen);
  check_norm({{2, 50000}, {false, true}}, {0, 1}, chosen);
  Builder builder("rows", load_architecture(GetParam()));
  const std::vector<HbmTensor> operands{argument_tensor(builder, "x", {{3, 60001}, {}})},
      results{argument_tensor(builder, "y", {{3, 60001}, {}}),
              argument_tensor(builder, "s", {{3, 1}, {}})};
  const size_t before = builder.instruction_count();
  EXPECT_FALSE(fused(builder, operands, results, softmax({false, true})));
  EXPECT_EQ(builder.instruction_count(), before);
}

TEST_P(RowProgramTest, RowsOfEveryLengthFitOneOfThePlans) {
  // A finish of more slots than any other expression of the program.
  RowProgram program{.reduced = {false, true}};
  RowStage stage{};
  stage.value.add_result(stage.value.input(0));
  const ElementValue sum = stage.finish.input(0);
  const ElementValue positive = compare(AluOp::kGreater, sum, 0);
  stage.finish.add_result(select(positive, sum * 2.0, select(positive * sum, -sum, sum * sum)));
  program.stages = {stage};
  Expression result;
  result.add_result(result.input(0) * result.input(1));
  program.results = {result};
  for (int64_t columns = 1000; columns < 20000; columns += 487) {
    const TensorSpec spec{{128, columns}, {}};
    EXPECT_EQ(error_of([&] {
                build_kernel(load_architecture(GetParam()), kernel_of(program, chosen), {spec},
                             {spec});
              }),
              "")
        << columns;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, RowProgramTest, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RowPrograms, RowsInSbufAreFasterThanStreamedOnes) {
  const auto time = [](EmitRows emit) {
    return simulated_microseconds(
        build_kernel(load_architecture("trn2"), kernel_of(softmax({false, true}), emit),
                     {{{1024, 1024}, {}}}, {{{1024, 1024}, {}}, {{1024, 1}, {}}}));
  };
  EXPECT_LT(time(fused), 0.7 * time(streamed));
}

TEST(RowPrograms, LoadWhatAllHeadsOfATokenShareOnce) {
  const TensorSpec heads{{512, 8, 64}, {}}, shared{{512, 8, 64}, {64, 0, 1}};
  const BuiltOp built =
      build_kernel(load_architecture("trn1"), kernel_of(norm({false, false, true}, 64), fused),
                   {heads, shared}, {heads});
  const int64_t elements = 512 * 8 * 64;
  EXPECT_EQ(simulate(*built.program).dma_bytes, 4 * (2 * elements + elements / 8));
}

TEST(RowPrograms, SquaresAreSummedByScalarAndRowsScaledByOneInstruction) {
  const auto program_of = [](int64_t columns) {
    const TensorSpec spec{{128, columns}, {}};
    return build_kernel(load_architecture("trn2"),
                        kernel_of(root_mean_square({false, true}, columns), fused),
                        {spec, {{128, columns}, {0, 1}}}, {spec, {{128, 1}, {}}});
  };
  const BuiltOp built = program_of(512);
  const Program& long_rows = *built.program;
  EXPECT_EQ(count_of(long_rows, "activation_reduce"), 1);
  EXPECT_EQ(count_of(long_rows, "scalar_tensor_tensor"), 1);
  EXPECT_EQ(count_of(long_rows, "tensor_tensor"), 0);
  EXPECT_EQ(count_of(long_rows, "tensor_reduce"), 0);
}

TEST(RowPrograms, NumbersOfRowsTakeNoRoomOfRows) {
  // bf16 operands and results of 4,096 columns; a fourth tensor of that shape would not fit.
  const Dtype dtype = Dtype::kBfloat16;
  const TensorSpec rows{{128, 4096}, {}, dtype}, numbers{{128, 1}, {}};
  Builder builder("rows", load_architecture("trn1"));
  const std::vector<HbmTensor> operands{
      argument_tensor(builder, "x", rows),
      argument_tensor(builder, "weight", {{128, 4096}, {0, 1}, dtype})};
  const std::vector<HbmTensor> results{argument_tensor(builder, "y", rows),
                                       argument_tensor(builder, "factor", numbers)};
  EXPECT_TRUE(fused_rows_fit(load_architecture("trn1"), operands, results,
                             root_mean_square({false, true}, 4096)));
  EXPECT_FALSE(fused_rows_fit(load_architecture("trn1"), operands,
                              std::array{results[0], results[0]},
                              root_mean_square({false, true}, 4096)));
}

TEST(RowPrograms, KeysDifferWhereProgramsDo) {
  const auto key_of = [](const RowProgram& program) {
    KernelKey key("rows", load_architecture("trn2"));
    add_option(key, program);
    return key;
  };
  const KernelKey known = key_of(softmax({false, true}));
  EXPECT_TRUE(key_of(softmax({false, true})) == known);
  EXPECT_FALSE(key_of(softmax({true, false})) == known);
  RowProgram other = softmax({false, true});
  other.stages.front().op = AluOp::kMinimum;
  EXPECT_FALSE(key_of(other) == known);
  EXPECT_FALSE(key_of(norm({false, true}, 8)) == key_of(norm({false, true}, 9)));
}

}  // namespace
}  // namespace neuron_sim
