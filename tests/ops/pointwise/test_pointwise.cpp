#include "ops/pointwise/pointwise.h"

#include "tests/ops/pointwise/written_expression.h"

namespace neuron_sim {
namespace {

using Write = WriteExpression;
using Oracle = std::function<double(const std::vector<double>&)>;

std::vector<HostTensor*> pointers(std::vector<HostTensor>& tensors) {
  std::vector<HostTensor*> result;
  for (HostTensor& tensor : tensors) result.push_back(&tensor);
  return result;
}

std::vector<double> expected_of(std::vector<HostTensor>& operands, int64_t elements,
                                const Oracle& oracle) {
  std::vector<std::vector<double>> values;
  for (HostTensor& operand : operands) values.push_back(operand.values());
  std::vector<double> expected;
  for (size_t i = 0; i < static_cast<size_t>(elements); ++i) {
    std::vector<double> inputs;
    for (const auto& operand : values) inputs.push_back(operand[i]);
    expected.push_back(oracle(inputs));
  }
  return expected;
}

/// Random operands, and the result against float64.
void check(const Architecture& architecture, const Write& write, const Oracle& oracle,
           const std::vector<TensorSpec>& specs, const TensorSpec& result, double low = -3,
           double high = 3) {
  std::string trace = architecture.name + ": " + describe("result", result);
  std::vector<HostTensor> operands;
  for (const TensorSpec& spec : specs) {
    operands.emplace_back(spec, random_values(spec.elements(), low, high,
                                              static_cast<unsigned>(operands.size() + 1)));
    trace += ", " + describe("operand", spec);
  }
  SCOPED_TRACE(trace);
  std::vector<HostTensor> actual =
      run_kernel(architecture, pointwise_kernel(written(write)), pointers(operands), {result});
  const std::vector<double> expected = expected_of(operands, result.elements(), oracle);
  expect_close(actual.front().values(), expected, 2 * unit_of(result.dtype));
}

class Pointwise : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
  double value(const Write& write, const std::vector<double>& inputs) const {
    std::vector<HostTensor> operands;
    for (const double input : inputs)
      operands.emplace_back(TensorSpec{{1}, {}}, std::vector{input});
    return run_kernel(architecture(), pointwise_kernel(written(write)), pointers(operands),
                      {{{1}, {}}})
        .front()
        .values()
        .front();
  }
};

TEST_P(Pointwise, FusedChainsEqualFloat64) {
  const TensorSpec spec{{70, 33}, {}};
  const auto one = [&](const Write& write, const std::function<double(double)>& oracle) {
    check(
        architecture(), write, [&](const std::vector<double>& in) { return oracle(in[0]); }, {spec},
        spec);
  };
  one([](Expression& e) { return (e.input(0) + 1.5) * 2.0; },
      [](double x) { return (x + 1.5) * 2; });
  one([](Expression& e) { return 3.0 - e.input(0) * 2.0; }, [](double x) { return 3 - x * 2; });
  one([](Expression& e) { return 3.0 - (2.0 - e.input(0)); }, [](double x) { return 3 - (2 - x); });
  one([](Expression& e) { return 1.0 / (e.input(0) + 10.0); },
      [](double x) { return 1 / (x + 10); });
  one([](Expression& e) { return e.alu(AluOp::kSquare, e.input(0) - 1.0) - 4.0; },
      [](double x) { return (x - 1) * (x - 1) - 4; });
  one([](Expression& e) { return e.alu(AluOp::kAbs, e.input(0)) + e.input(0); },
      [](double x) { return std::abs(x) + x; });
  one([](Expression& e) { return call(Activation::kTanh, e.input(0) * 0.5 + 0.25); },
      [](double x) { return std::tanh(x * 0.5 + 0.25); });
  one([](Expression& e) { return call(Activation::kExp, 1.0 - e.input(0)); },
      [](double x) { return std::exp(1 - x); });
  one([](Expression& e) { return call(Activation::kSigmoid, -e.input(0)) * e.input(0); },
      [](double x) { return x / (1 + std::exp(x)); });
  one(
      [](Expression& e) {
        return e.alu(AluOp::kPower, e.alu(AluOp::kAbs, e.input(0)) + 0.5, e.constant(1.5));
      },
      [](double x) { return std::pow(std::abs(x) + 0.5, 1.5); });
  one([](Expression& e) { return e.alu(AluOp::kPower, e.constant(2), e.input(0)); },
      [](double x) { return std::exp2(x); });
  one([](Expression& e) { return e.alu(AluOp::kRsqrt, e.alu(AluOp::kSquare, e.input(0)) + 1.0); },
      [](double x) { return 1 / std::sqrt(x * x + 1); });
}

TEST_P(Pointwise, TwoTilesInAnyOrderEqualFloat64) {
  const TensorSpec spec{{5, 77}, {}};
  const auto two = [&](const Write& write, const std::function<double(double, double)>& oracle) {
    check(
        architecture(), write, [&](const std::vector<double>& in) { return oracle(in[0], in[1]); },
        {spec, spec}, spec, 1, 4);
  };
  two([](Expression& e) { return e.input(0) * 2.0 - e.input(1); },
      [](double x, double y) { return 2 * x - y; });
  two([](Expression& e) { return e.input(0) - e.input(1) * 2.0; },
      [](double x, double y) { return x - 2 * y; });
  two([](Expression& e) { return e.input(0) / (1.0 - e.input(1) * 2.0); },
      [](double x, double y) { return x / (1 - 2 * y); });
  two([](Expression& e) { return (5.0 - e.input(0)) / e.input(1); },
      [](double x, double y) { return (5 - x) / y; });
  two([](Expression& e) { return (e.input(0) * 3.0) / (2.0 - e.input(1) * 4.0); },
      [](double x, double y) { return 3 * x / (2 - 4 * y); });
  two([](Expression& e) { return maximum(e.input(0), e.input(1) * 1.5) * e.input(0); },
      [](double x, double y) { return std::max(x, 1.5 * y) * x; });
}

TEST_P(Pointwise, SelectionsTakeOneOfTheTwo) {
  const TensorSpec spec{{9, 130}, {}}, flags{{9, 130}, {}, Dtype::kBool};
  const Write clipped = [](Expression& e) {
    const ElementValue x = e.input(0);
    return select(compare(AluOp::kGreater, x, 0), x * 2.0, select(e.input(1), x, e.constant(-7)));
  };
  const Oracle oracle = [](const std::vector<double>& in) {
    return in[0] > 0 ? in[0] * 2 : in[1] != 0 ? in[0] : -7;
  };
  check(architecture(), clipped, oracle, {spec, flags}, spec);
  check(architecture(), clipped, oracle, {{{9, 130}, {1, 9}, Dtype::kBfloat16}, flags}, spec);
  check(architecture(), clipped, oracle, {spec, {{9, 130}, {0, 1}, Dtype::kBool}}, spec);
  check(architecture(), clipped, oracle, {spec, {{9, 130}, {1, 0}, Dtype::kInt8}}, spec);
}

TEST_P(Pointwise, SelectionsHideNanAndTakeNanAsTrue) {
  const Write write = [](Expression& e) { return select(e.input(0), e.input(1), e.input(2)); };
  EXPECT_EQ(value(write, {1, 5, NAN}), 5);
  EXPECT_EQ(value(write, {0, NAN, 6}), 6);
  EXPECT_EQ(value(write, {-0.0, INFINITY, 6}), 6);
  EXPECT_EQ(value(write, {NAN, 5, 6}), 5);
  EXPECT_EQ(value(write, {1e-40, -INFINITY, 6}), -INFINITY);
}

TEST_P(Pointwise, RoundsToIntegersWithTiesToEven) {
  const Write write = [](Expression& e) { return e.round(e.input(0) * 1.0); };
  for (const double x : {0.5, 1.5, 2.5, -0.5, -1.5, 2.49, -3.51, 8388607.5, 2147483000.0}) {
    EXPECT_EQ(value(write, {x}), std::nearbyint(static_cast<float>(x))) << x;
  }
}

TEST_P(Pointwise, CopiesSignsOfZerosInfinitiesAndNan) {
  const Write write = [](Expression& e) {
    return e.copy_sign(e.alu(AluOp::kAbs, e.input(0)), e.input(1));
  };
  const double inf = INFINITY;
  for (const double magnitude : {0.0, 2.5, 1e-40, inf, double{NAN}}) {
    for (const double sign : {0.0, -0.0, 3.0, -3.0, inf, -inf, double{NAN}, -double{NAN}}) {
      const double result = value(write, {magnitude, sign});
      EXPECT_EQ(std::signbit(result), std::signbit(sign)) << magnitude << " " << sign;
      if (magnitude == magnitude) {
        EXPECT_EQ(std::abs(result), static_cast<float>(magnitude)) << sign;
      }
    }
  }
}

TEST_P(Pointwise, NanAndInfinitiesComeThroughAsInFp32) {
  const double inf = INFINITY;
  const Write sum = [](Expression& e) { return (e.input(0) + 1.0) * 2.0; };
  EXPECT_TRUE(std::isnan(value(sum, {NAN})));
  EXPECT_EQ(value(sum, {inf}), inf);
  EXPECT_EQ(value(sum, {-inf}), -inf);
  const Write difference = [](Expression& e) { return e.input(0) * 2.0 - e.input(1); };
  EXPECT_TRUE(std::isnan(value(difference, {inf, inf})));
  EXPECT_EQ(value(difference, {3e38, 1}), inf);
  const Write quotient = [](Expression& e) { return e.input(0) / e.input(1); };
  EXPECT_TRUE(std::isnan(value(quotient, {0, 0})));
  EXPECT_EQ(value(quotient, {1, -0.0}), -inf);
  const Write larger = [](Expression& e) { return maximum(e.input(0), e.input(1)); };
  EXPECT_TRUE(std::isnan(value(larger, {NAN, 1})));
  EXPECT_TRUE(std::isnan(value(larger, {1, NAN})));
  const Write less = [](Expression& e) { return compare(AluOp::kLess, e.input(0), e.input(1)); };
  EXPECT_EQ(value(less, {NAN, 1}), 0);
}

TEST_P(Pointwise, EveryDtypeIsComputedInFp32AndRoundedOnce) {
  const Write write = [](Expression& e) { return e.input(0) * 0.5 + e.input(1); };
  for (const Dtype in : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kInt32,
                         Dtype::kInt16, Dtype::kInt8, Dtype::kUint8, Dtype::kBool}) {
    for (const Dtype out : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kInt32,
                            Dtype::kInt8, Dtype::kUint8, Dtype::kBool}) {
      const TensorSpec a{{3, 61}, {}, in}, b{{3, 61}, {}}, result{{3, 61}, {}, out};
      HostTensor left(a, random_values(183, 0, 90, 1)), right(b, random_values(183, 0, 30, 2));
      std::vector<HostTensor> actual =
          run_kernel(architecture(), pointwise_kernel(written(write)), {&left, &right}, {result});
      const std::vector<double> x = left.values(), y = right.values();
      std::vector<double> expected;
      for (size_t i = 0; i < x.size(); ++i) {
        expected.push_back(round_to(
            out, static_cast<float>(static_cast<float>(x[i]) * 0.5F + static_cast<float>(y[i]))));
      }
      SCOPED_TRACE(describe("a", a) + " to " + describe("result", result));
      expect_values(actual.front().values(), expected);
    }
  }
}

TEST_P(Pointwise, WalksBroadcastOperandsInEveryPosition) {
  const Write write = [](Expression& e) { return e.input(0) * 2.0 - e.input(1); };
  const Oracle oracle = [](const std::vector<double>& in) { return 2 * in[0] - in[1]; };
  const std::vector<int64_t> shape{3, 5, 4, 7};
  for (unsigned mask = 0; mask < 16; ++mask) {
    std::vector<bool> repeated;
    for (unsigned d = 0; d < 4; ++d) repeated.push_back((mask >> d & 1U) != 0);
    const std::vector<int64_t> strides = permuted_strides(shape, {0, 1, 2, 3}, repeated);
    check(architecture(), write, oracle, {{shape, {}}, {shape, strides}}, {shape, {}});
    check(architecture(), write, oracle, {{shape, strides}, {shape, strides}}, {shape, {}});
  }
  check(architecture(), write, oracle, {{{700, 3}, {0, 1}}, {{700, 3}, {}}}, {{700, 3}, {}});
  check(architecture(), write, oracle, {{{3, 7000}, {1, 0}}, {{3, 7000}, {}}}, {{3, 7000}, {}});
  check(architecture(), write, oracle, {{{9000}, {0}}, {{9000}, {2}}}, {{9000}, {3}});
}

TEST_P(Pointwise, WalksAnyShapeAndLayout) {
  const Write write = [](Expression& e) { return e.input(0) * 2.0 - e.input(1); };
  const Oracle oracle = [](const std::vector<double>& in) { return 2 * in[0] - in[1]; };
  RandomLayouts random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<int64_t> shape = random.shape(7, 6000);
    check(architecture(), write, oracle,
          {{shape, random.strides(shape, true)}, {shape, random.strides(shape, true)}},
          {shape, random.strides(shape, false)});
  }
  check(architecture(), write, oracle, {{{}, {}}, {{}, {}}}, {{}, {}});
  check(architecture(), write, oracle, {{{200001}, {}}, {{200001}, {}}}, {{200001}, {}});
}

TEST_P(Pointwise, SeveralResultsShareTheirSteps) {
  Expression e;
  const ElementValue x = e.input(0), twice = x * 2.0;
  e.add_result(twice);
  e.add_result(twice + 1.0);
  e.add_result(x);
  e.add_result(e.constant(4));
  e.add_result(twice);
  HostTensor operand({{300, 7}, {}}, random_values(2100));
  const TensorSpec spec{{300, 7}, {}}, half{{300, 7}, {}, Dtype::kFloat16};
  std::vector<HostTensor> results =
      run_kernel(architecture(), pointwise_kernel(e), {&operand}, {spec, spec, half, spec, spec});
  const std::vector<double> values = operand.values();
  for (size_t i = 0; i < values.size(); ++i) {
    const float doubled = static_cast<float>(values[i]) * 2;
    ASSERT_EQ(results[0].values()[i], doubled);
    ASSERT_EQ(results[1].values()[i], doubled + 1);
    ASSERT_EQ(results[2].values()[i], round_to(Dtype::kFloat16, values[i]));
    ASSERT_EQ(results[3].values()[i], 4);
    ASSERT_EQ(results[4].values()[i], doubled);
    if (i == 40) i = values.size() - 41;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Pointwise, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
