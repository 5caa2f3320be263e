#include "ops/reduction/reduction.h"

#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

EmitKernel kernel_of(const ReductionOptions& options) {
  return with_options(emit_reduction, options);
}

std::vector<int64_t> kept_shape(const std::vector<int64_t>& shape,
                                const std::vector<bool>& reduced) {
  std::vector<int64_t> kept = shape;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (reduced[i]) kept[i] = 1;
  }
  return kept;
}

double combined(AluOp op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  switch (op) {
    case AluOp::kMultiply: return a * b;
    case AluOp::kMaximum: return std::max(a, b);
    case AluOp::kMinimum: return std::min(a, b);
    default: return a + b;
  }
}

/// Row-major values reduced in float64.
std::vector<double> oracle(AluOp op, const std::vector<int64_t>& shape,
                           const std::vector<bool>& reduced, const std::vector<double>& values) {
  const std::vector<int64_t> kept = kept_shape(shape, reduced);
  const std::vector<int64_t> strides = dense_strides(kept);
  std::vector<double> result(static_cast<size_t>(TensorSpec{kept, {}}.elements()));
  std::vector<bool> begun(result.size(), false);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t left = static_cast<int64_t>(i), at = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      if (!reduced[d]) at += left % shape[d] * strides[d];
      left /= shape[d];
    }
    const auto k = static_cast<size_t>(at);
    result[k] = begun[k] ? combined(op, result[k], values[i]) : values[i];
    begun[k] = true;
  }
  return result;
}

struct Case {
  TensorSpec operand;
  std::vector<bool> reduced;
  AluOp op = AluOp::kAdd;
  std::vector<int64_t> result_strides{};
  Dtype result = Dtype::kFloat32;
};

std::vector<double> reduced_values(const Architecture& architecture, const Case& test,
                                   HostTensor& operand) {
  const TensorSpec result{kept_shape(test.operand.shape, test.reduced), test.result_strides,
                          test.result};
  return run_kernel(architecture, kernel_of({.op = test.op, .reduced = test.reduced}), {&operand},
                    {result})
      .front()
      .values();
}

void check(const Architecture& architecture, const Case& test) {
  std::string trace = architecture.name + ": " + describe("operand", test.operand) + " strides";
  for (const int64_t stride : strides_of(test.operand)) trace += text(" ", stride);
  trace += " reduced";
  for (const bool flag : test.reduced) trace += flag ? " yes" : " no";
  SCOPED_TRACE(trace);
  const bool product = test.op == AluOp::kMultiply;
  HostTensor operand(test.operand,
                     random_values(test.operand.elements(), product ? 0.9 : -2, product ? 1.1 : 3));
  const std::vector<double> values = operand.values();
  std::vector<double> sizes = values;
  for (double& size : sizes) size = std::abs(size);
  const std::vector<double> actual = reduced_values(architecture, test, operand);
  const std::vector<double> expected = oracle(test.op, test.operand.shape, test.reduced, values);
  // Sums are as exact as their terms are large.
  const std::vector<double> scale = oracle(test.op, test.operand.shape, test.reduced, sizes);
  ASSERT_EQ(actual.size(), expected.size());
  // A product rounds once per term in any order, up and down by chance.
  const auto terms = static_cast<double>(values.size() / expected.size());
  const double relative = product ? 3 * 0x1p-24 * std::sqrt(terms) + 1e-6 : 1e-6;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double rounding =
        unit_of(test.result) * std::abs(expected[i]) + relative * scale[i] + 1e-9;
    ASSERT_LE(std::abs(actual[i] - expected[i]), rounding) << "element " << i;
  }
}

class Reduction : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
};

std::vector<bool> flags(unsigned mask, size_t count) {
  std::vector<bool> result;
  for (size_t d = 0; d < count; ++d) result.push_back((mask >> d & 1U) != 0);
  return result;
}

TEST_P(Reduction, ReducesEverySubsetOfDimensionsInEveryOrderOfStrides) {
  const std::vector<int64_t> shape{5, 33, 7, 13};
  std::vector<size_t> order{0, 1, 2, 3};
  do {
    for (unsigned mask = 0; mask < 16; ++mask) {
      const AluOp op = (mask & 1U) != 0 ? AluOp::kAdd : AluOp::kMaximum;
      check(architecture(), {{shape, permuted_strides(shape, order)}, flags(mask, 4), op});
    }
  } while (std::next_permutation(order.begin(), order.end()) && order[0] < 2);
}

TEST_P(Reduction, ReducesAnyShapeAndLayout) {
  RandomLayouts random(5);
  const std::vector<AluOp> ops{AluOp::kAdd, AluOp::kMultiply, AluOp::kMaximum, AluOp::kMinimum};
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<int64_t> shape = random.shape(7, 20000);
    const std::vector<bool> reduced =
        flags(static_cast<unsigned>(random.number(0, 127)), shape.size());
    const std::vector<int64_t> kept = kept_shape(shape, reduced);
    check(architecture(), {{shape, random.strides(shape, true)},
                           reduced,
                           ops[static_cast<size_t>(trial % 4)],
                           random.strides(kept, false)});
  }
}

TEST_P(Reduction, LongRowsAndColumnsOfOddSizes) {
  check(architecture(), {{{1}, {}}, {true}});
  check(architecture(), {{{}, {}}, {}});
  check(architecture(), {{{100003}, {}}, {true}});
  check(architecture(), {{{100003}, {}}, {true}, AluOp::kMinimum});
  check(architecture(), {{{3, 20011}, {}}, {false, true}});
  check(architecture(), {{{130, 5001}, {}}, {false, true}});
  check(architecture(), {{{5001, 130}, {}}, {true, false}});
  check(architecture(), {{{300, 8200}, {}}, {true, false}});
  check(architecture(), {{{20, 16411}, {}}, {true, false}});
  check(architecture(), {{{50000, 2}, {}}, {true, false}, AluOp::kMaximum});
  check(architecture(), {{{2, 200, 129}, {}}, {true, true, false}});
  check(architecture(), {{{40, 1, 3, 700}, {}}, {true, false, true, true}});
}

TEST_P(Reduction, EveryDtypeIsSummedInFp32AndRoundedOnce) {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kInt32,
                            Dtype::kInt16, Dtype::kInt8, Dtype::kBool}) {
    for (const std::vector<bool>& reduced : {flags(1, 2), flags(2, 2), flags(3, 2)}) {
      check(architecture(), {{{90, 311}, {}, dtype}, reduced});
      if (is_float(dtype))
        check(architecture(), {{{90, 311}, {}, dtype}, reduced, AluOp::kAdd, {}, dtype});
    }
  }
}

TEST_P(Reduction, NanAndInfinitiesSpoilTheirOwnResultOnly) {
  for (const AluOp op : {AluOp::kAdd, AluOp::kMaximum, AluOp::kMinimum}) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{200, 150}, {20, 150}, {200, 9000}}) {
      for (unsigned mask = 1; mask < 3; ++mask) {
        std::vector<double> values = random_values(shape[0] * shape[1], -2, 3);
        const auto width = static_cast<size_t>(shape[1]);
        values[3 * width + 5] = NAN;
        values[7 * width + 11] = INFINITY;
        values[9 * width + 13] = -INFINITY;
        values[10 * width + 14] = INFINITY;
        values[10 * width + 15] = -INFINITY;
        const Case test{{shape, {}}, flags(mask, 2), op};
        HostTensor operand(test.operand, values);
        SCOPED_TRACE(describe("operand", test.operand) + text(" mask ", int64_t{mask}));
        expect_close(reduced_values(architecture(), test, operand),
                     oracle(op, shape, test.reduced, operand.values()), 1e-3);
      }
    }
  }
}

TEST_P(Reduction, PrologueAndEpilogueAreOfTheKernel) {
  ReductionOptions options{.reduced = {}};
  const ElementValue x = options.prologue.input(0), y = options.prologue.input(1);
  options.prologue.add_result((x - y) * (x - y));
  options.epilogue.add_result(call(Activation::kSqrt, options.epilogue.input(0) * 0.25));
  for (const std::vector<bool>& reduced : {flags(1, 2), flags(2, 2), flags(3, 2), flags(0, 2)}) {
    options.reduced = reduced;
    const std::vector<int64_t> shape{211, 300};
    HostTensor a({shape, {}}, random_values(63300, -2, 2, 1)),
        b({shape, {0, 1}}, random_values(63300, -2, 2, 2));
    const std::vector<double> actual =
        run_kernel(architecture(), kernel_of(options), {&a, &b}, {{kept_shape(shape, reduced), {}}})
            .front()
            .values();
    std::vector<double> squares = a.values();
    const std::vector<double> others = b.values();
    for (size_t i = 0; i < squares.size(); ++i) {
      squares[i] = (squares[i] - others[i]) * (squares[i] - others[i]);
    }
    std::vector<double> expected = oracle(AluOp::kAdd, shape, reduced, squares);
    for (double& value : expected) value = std::sqrt(value * 0.25);
    expect_close(actual, expected, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Reduction, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

double time_of(const Case& test) {
  const TensorSpec result{kept_shape(test.operand.shape, test.reduced), {}};
  return simulated_microseconds(build_kernel(load_architecture("trn2"),
                                             kernel_of({.op = test.op, .reduced = test.reduced}),
                                             {test.operand}, {result}));
}

TEST(ReductionKernel, AMillionElementsAreSummedByAllPartitions) {
  // On one partition: a cycle of 0.96 GHz per element, more than a millisecond.
  EXPECT_LT(time_of({{{1 << 20}, {}}, {true}}), 100);
  EXPECT_LT(time_of({{{1 << 20}, {}}, {true}}),
            1.5 * time_of({{{128, 1 << 13}, {}}, {false, true}}));
}

/// The sum of `count` values that live at the same time.
Expression wide(int count, bool several_inputs) {
  Expression e;
  std::vector<ElementValue> values;
  for (int i = 0; i < count; ++i) {
    const ElementValue x = e.input(several_inputs ? i : 0);
    values.push_back(call(Activation::kExp, x * (1.0 + i)));
  }
  ElementValue sum = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) sum = sum + values[i];
  e.add_result(sum);
  return e;
}

TEST(ReductionKernel, TilesShrinkForTheBytesOfBothExpressions) {
  const std::vector<int64_t> shape{2, 131072};
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    for (int count = 2; count < 16; ++count) {
      const ReductionOptions options{
          .prologue = wide(count, true), .epilogue = wide(count, false), .reduced = {true, false}};
      EXPECT_EQ(error_of([&] {
                  build_kernel(load_architecture(name), kernel_of(options),
                               std::vector<TensorSpec>(static_cast<size_t>(count), {shape, {}}),
                               {{{1, 131072}, {}}});
                }),
                "")
          << name << ", " << count << " values";
    }
  }
}

TEST(ReductionKernel, ExpressionsThatDoNotFitSbufAreRefused) {
  const auto error = [](int count) {
    return error_of([&] {
      build_kernel(load_architecture("trn2"),
                   kernel_of({.prologue = wide(count, false), .reduced = {false, true}}),
                   {{{128, 8}, {}}}, {{{128, 1}, {}}});
    });
  };
  EXPECT_EQ(error(1000), "");
  const int64_t free = load_architecture("trn2").limits.sbuf_usable.count - 16384;
  const int64_t most = (free - 32) / 8;  // 8 of the operand, 8 of the values, 16 of the kernel
  EXPECT_EQ(error(static_cast<int>(most + 1)),
            text("the expressions of a reduction need ", 32 + 8 * (most + 1),
                 " bytes per element, more than an SBUF partition of trn2 has free (", free, ")."));
}

TEST(ReductionKernel, NoElementsAreRefused) {
  const auto build = [&] {
    build_kernel(load_architecture("trn2"), kernel_of({.reduced = {true, false}}), {{{0, 3}, {}}},
                 {{{1, 3}, {}}});
  };
  EXPECT_EQ(error_of(build), "a reduction needs elements");
}

}  // namespace
}  // namespace neuron_sim
