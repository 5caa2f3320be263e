#include "device/execute/thread_pool.h"
#include "tests/ops/pointwise/written_expression.h"

namespace neuron_sim {
namespace {

using Write = WriteExpression;

/// The result of an expression of Domain::kInteger.
std::vector<double> in_integers(const char* architecture, const Write& write,
                                std::vector<HostTensor*> operands, const TensorSpec& result) {
  return run_kernel(load_architecture(architecture),
                    pointwise_kernel(written(write, Domain::kInteger)), operands, {result})
      .front()
      .values();
}

/// The low bits of `value`, as an integer of the dtype.
double wrapped(Dtype dtype, int64_t value) {
  const int64_t values = int64_t{1} << (8 * itemsize(dtype));
  int64_t low = value & (values - 1);
  const bool is_signed = dtype != Dtype::kUint8 && dtype != Dtype::kUint32;
  if (is_signed && low >= values / 2) low -= values;
  return static_cast<double>(low);
}

TEST(PointwiseIntegers, WrapAsTheirDtypesDo) {
  const std::vector<double> values{0, 1, -1, 127, -128, 100, 77, -99};
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    for (const Dtype dtype : {Dtype::kInt32, Dtype::kInt16, Dtype::kInt8, Dtype::kUint8}) {
      for (const Dtype result : {Dtype::kInt32, Dtype::kInt16, Dtype::kInt8, Dtype::kUint8}) {
        const TensorSpec spec{{8}, {}, dtype};
        HostTensor a(spec), b(spec);
        std::vector<uint32_t> bits;
        for (const double value : values) {
          bits.push_back(static_cast<uint32_t>(static_cast<int32_t>(value)));
        }
        a.set_bits(bits);
        std::reverse(bits.begin(), bits.end());
        b.set_bits(bits);
        const std::vector<double> x = a.values(), y = b.values();
        std::vector<double> sums, products;
        for (size_t i = 0; i < x.size(); ++i) {
          const auto left = static_cast<int64_t>(x[i]), right = static_cast<int64_t>(y[i]);
          sums.push_back(wrapped(result, left + right));
          products.push_back(wrapped(result, wrapped(Dtype::kInt32, left * 16777619) - right));
        }
        SCOPED_TRACE(describe(name, spec) + describe(" to ", {{8}, {}, result}));
        expect_values(in_integers(name, [](Expression& e) { return e.input(0) + e.input(1); },
                                  {&a, &b}, {{8}, {}, result}),
                      sums);
        expect_values(
            in_integers(name, [](Expression& e) { return e.input(0) * 16777619.0 - e.input(1); },
                        {&a, &b}, {{8}, {}, result}),
            products);
      }
    }
  }
}

TEST(PointwiseIntegers, AnOperandAsItIsKeepsItsLowBits) {
  const std::vector<int64_t> shape{40, 6, 7};
  for (const Dtype dtype : {Dtype::kInt32, Dtype::kInt16, Dtype::kInt8, Dtype::kUint8}) {
    for (const Dtype result : {Dtype::kInt32, Dtype::kInt16, Dtype::kInt8, Dtype::kUint8}) {
      for (const std::vector<int64_t>& strides :
           {std::vector<int64_t>{42, 7, 1}, {1, 280, 40}, {7, 0, 1}, {6, 1, 0}, {2000, 50, 3}}) {
        const TensorSpec spec{shape, strides, dtype};
        SCOPED_TRACE(describe("operand", spec) + describe(" to", {shape, {}, result}));
        const double span = std::ldexp(1.0, 8 * itemsize(dtype));
        std::vector<double> values = random_values(1680, 0, span);
        for (double& value : values) {
          value = std::floor(value) - (dtype == Dtype::kUint8 ? 0 : span / 2);
        }
        HostTensor operand(spec, values);
        std::vector<double> expected = operand.values();
        for (double& value : expected) value = wrapped(result, static_cast<int64_t>(value));
        expect_values(in_integers("trn2", [](Expression& e) { return e.input(0); }, {&operand},
                                  {shape, {}, result}),
                      expected);
      }
    }
  }
}

TEST(PointwiseIntegers, AConstantResultKeepsItsLowBits) {
  HostTensor operand({{3, 5}, {}, Dtype::kInt32}, std::vector<double>(15, 1.0));
  const auto constant = [](Expression& e) { return e.constant(300); };
  expect_values(in_integers("trn2", constant, {&operand}, {{3, 5}, {}, Dtype::kInt8}),
                std::vector<double>(15, 44.0));
  expect_values(in_integers("trn2", constant, {&operand}, {{3, 5}, {}, Dtype::kFloat32}),
                std::vector<double>(15, 300.0));
}

TEST(PointwiseIntegers, SelectionsAndBitsAreOfIntegers) {
  const TensorSpec spec{{70, 9}, {}, Dtype::kInt32};
  std::vector<double> values = random_values(630, -2147483648.0, 2147483647.0);
  for (double& value : values) value = std::floor(value);
  HostTensor a(spec, values), flags({{70, 9}, {0, 1}, Dtype::kBool}, random_values(630, 0, 2));
  const std::vector<double> chosen = flags.values();
  std::vector<double> expected;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<int64_t>(values[i]);
    expected.push_back(chosen[i] != 0 ? static_cast<double>(bits & 255) : -5);
  }
  expect_values(in_integers(
                    "trn2",
                    [](Expression& e) {
                      return e.select(e.input(1),
                                      e.alu(AluOp::kBitwiseAnd, e.input(0), e.constant(255)),
                                      e.constant(-5));
                    },
                    {&a, &flags}, spec),
                expected);
}

EmitKernel random_kernel(const Expression& expression) {
  return with_options(emit_random_pointwise, expression);
}

TEST(RandomPointwise, NumbersFollowTheSeed) {
  const TensorSpec spec{{300, 77}, {}}, seed_spec{{1}, {}, Dtype::kInt32};
  const Expression uniform =
      written([](Expression& e) { return e.input(1) * 0x1p-24 + e.input(0); });
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    HostTensor zeros(spec, std::vector<double>(23100, 0.0));
    const auto numbers = [&](double seed, int threads) {
      HostTensor seeds(seed_spec, {seed});
      set_host_threads(threads);
      return run_kernel(load_architecture(name), random_kernel(uniform), {&zeros, &seeds}, {spec})
          .front()
          .values();
    };
    const int before = thread_pool().threads();
    const std::vector<double> first = numbers(17, 1), again = numbers(17, 4),
                              other = numbers(18, 1);
    set_host_threads(before);
    expect_values(again, first);
    int64_t equal = 0;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < first.size(); ++i) {
      equal += first[i] == other[i];
      sum += first[i];
      squares += first[i] * first[i];
      ASSERT_GE(first[i], 0);
      ASSERT_LT(first[i], 1);
    }
    const auto count = static_cast<double>(first.size());
    EXPECT_LT(equal, 10);
    EXPECT_NEAR(sum / count, 0.5, 0.01);
    EXPECT_NEAR(squares / count, 1.0 / 3, 0.01);
    std::vector<double> sorted = first;
    std::sort(sorted.begin(), sorted.end());
    const auto distinct = std::unique(sorted.begin(), sorted.end()) - sorted.begin();
    EXPECT_GT(distinct, 23050);
  }
}

TEST(PointwiseKernel, AFusedExpressionIsFasterThanItsStepsAsKernels) {
  const Architecture& architecture = load_architecture("trn2");
  const TensorSpec spec{{1024, 1024}, {}};
  const auto time = [&](const Write& write) {
    return simulated_microseconds(
        build_kernel(architecture, pointwise_kernel(written(write)), {spec}, {spec}));
  };
  const double fused =
      time([](Expression& e) { return call(Activation::kTanh, (e.input(0) + 1.0) * 2.0); });
  const double steps = time([](Expression& e) { return e.input(0) + 1.0; }) +
                       time([](Expression& e) { return e.input(0) * 2.0; }) +
                       time([](Expression& e) { return call(Activation::kTanh, e.input(0)); });
  EXPECT_LT(fused, 0.5 * steps);
}

TEST(PointwiseKernel, BytesAreTheSameForAnyNumberOfHostThreads) {
  const Write write = [](Expression& e) {
    return call(Activation::kGelu, e.input(0) * 2.0 - e.input(1));
  };
  const TensorSpec spec{{300, 513}, {}};
  HostTensor a(spec, random_values(300 * 513, -3, 3, 1)),
      b(spec, random_values(300 * 513, -3, 3, 2));
  std::vector<std::vector<uint32_t>> bits;
  const int before = thread_pool().threads();
  for (const int threads : {1, 2, 5}) {
    set_host_threads(threads);
    bits.push_back(
        run_kernel(load_architecture("trn2"), pointwise_kernel(written(write)), {&a, &b}, {spec})
            .front()
            .bits());
  }
  set_host_threads(before);
  EXPECT_EQ(bits[1], bits[0]);
  EXPECT_EQ(bits[2], bits[0]);
}

TEST(PointwiseKernel, ExpressionsThatDoNotFitSbufAreRefused) {
  const auto error_with = [](int constants) {
    Expression e(Domain::kInteger);
    ElementValue sum = e.input(0);
    for (int i = 0; i < constants; ++i) sum = sum + (1.0 + i);
    e.add_result(sum);
    const TensorSpec spec{{128}, {}, Dtype::kInt32};
    return error_of(
        [&] { build_kernel(load_architecture("trn2"), pointwise_kernel(e), {spec}, {spec}); });
  };
  const int64_t bytes = load_architecture("trn2").limits.sbuf_usable.count;
  const int most = static_cast<int>((bytes - 60) / 64) - 16;
  EXPECT_EQ(error_with(most), "");
  EXPECT_EQ(error_with(most + 1), text("a pointwise expression of ", 2 * most + 3,
                                       " steps needs 60 bytes per element and ", 64 * (most + 17),
                                       " bytes of constants, more than the ", bytes,
                                       " bytes of an SBUF partition of trn2."));
}

}  // namespace
}  // namespace neuron_sim
