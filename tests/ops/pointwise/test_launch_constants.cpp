// A kernel with other constants is the one compiled for those constants, in every immediate and in
// its time.

#include "ops/pointwise/launch_constants.h"

#include <array>
#include <limits>

#include "device/runtime/checking.h"
#include "device/runtime/launch.h"
#include "tests/ops/pointwise/evaluated_expression.h"

namespace neuron_sim {
namespace {

constexpr int kInputs = 2;
const TensorSpec kSpec{{3, 40}, {}};

/// Builds programs of expressions over kInputs operands.
auto building(const Architecture& architecture, Dtype dtype = Dtype::kFloat32) {
  TensorSpec spec = kSpec;
  spec.dtype = dtype;
  return [&architecture, spec](const Expression& expression) {
    return build_kernel(architecture, pointwise_kernel(expression),
                        std::vector<TensorSpec>(kInputs, spec),
                        std::vector<TensorSpec>(expression.results().size(), spec))
        .program;
  };
}

std::vector<int64_t> immediates(const Program& program) {
  std::vector<int64_t> bits;
  for (const Attribute& attribute : program.attributes) bits.push_back(attribute.bits);
  return bits;
}

/// Compares a launch of `kernel` with constants `numbers` with the program compiled for them.
template <typename Build>
void expect_compiled_for(const Kernel& kernel, const Expression& expression,
                         const std::vector<double>& numbers, const Build& build) {
  const Kernel::ProgramOfLaunch of_launch(kernel, numbers);
  const Kernel direct(build(expression.with_constants(numbers)));
  EXPECT_EQ(immediates(*of_launch), immediates(direct.program()));
  EXPECT_EQ((*of_launch).instructions.size(), direct.program().instructions.size());
  EXPECT_EQ(kernel.timing().body, direct.timing().body);
  EXPECT_EQ(kernel.timing().busy, direct.timing().busy);
  EXPECT_EQ(kernel.timing().dma_bytes, direct.timing().dma_bytes);
}

std::vector<double> drawn_numbers(RandomLayouts& random, size_t count, bool whole) {
  std::vector<double> special = {0, 1, -1, 2, -128, 65536, -2147483648.0, 2147483647};
  if (!whole) {
    special.insert(special.end(), {-0.0, 0.5, 1e-45, 1e300, 0.1, 7654321, 7654322,
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()});
  }
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(
        special[static_cast<size_t>(random.number(0, static_cast<int64_t>(special.size()) - 1))]);
  }
  return numbers;
}

TEST(LaunchConstants, GiveTheProgramCompiledForThem) {
  RandomLayouts random(31);
  for (int trial = 0; trial < 150; ++trial) {
    const char* name = std::array{"trn1", "trn2", "trn3"}[static_cast<size_t>(trial % 3)];
    SCOPED_TRACE(text("trial ", trial, " on ", name));
    Expression e;
    std::vector<ElementValue> known;
    for (int i = 0; i < kInputs; ++i) known.push_back(e.input(i));
    const int64_t steps = random.number(1, 16);
    for (int64_t i = 0; i < steps; ++i) known.push_back(drawn(e, random, known));
    for (size_t i = 1; i <= 2; ++i) e.add_result(known[known.size() - i]);
    const auto build = building(load_architecture(name));
    const auto kernel = compile_expression(e, build);
    const std::vector<double> own = e.form().constants;
    EXPECT_EQ(immediates(kernel->program()), immediates(*build(e)));
    for (int launch = 0; launch < 3; ++launch) {
      expect_compiled_for(*kernel, e, drawn_numbers(random, own.size(), false), build);
    }
    expect_compiled_for(*kernel, e, own, build);
  }
}

TEST(LaunchConstants, OfIntegersLieInTiles) {
  Expression e(Domain::kInteger);
  const ElementValue sum = e.input(0) + e.constant(3) * e.input(1);
  e.add_result(e.select(compare(AluOp::kLess, sum, 7), sum, e.constant(-5)));
  e.add_result(e.constant(9));
  RandomLayouts random(5);
  const auto build = building(load_architecture("trn2"), Dtype::kInt32);
  const auto kernel = compile_expression(e, build);
  for (int launch = 0; launch < 40; ++launch) {
    expect_compiled_for(*kernel, e, drawn_numbers(random, 4, true), build);
  }
}

TEST(LaunchConstants, OfIntegersHave32Bits) {
  const auto form = [](double constant) {
    return written([&](Expression& e) { return e.input(0) + constant; }, Domain::kInteger).form();
  };
  EXPECT_EQ(form(2147483647.0).constants, std::vector<double>{2147483647.0});
  EXPECT_EQ(form(-2147483648.0).constants, std::vector<double>{-2147483648.0});
  for (const double constant :
       {2147483648.0, -2147483649.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(form(constant), KernelError) << constant;
  }
}

TEST(LaunchConstants, OfSeveralLaunchesAtATimeAreApart) {
  const Expression e = written([](Expression& x) { return x.input(0) * 2.0 + x.input(1); });
  const auto kernel = compile_expression(e, building(load_architecture("trn2")));
  const std::vector<double> three{3}, four{4};
  const Kernel::ProgramOfLaunch a(*kernel, three), b(*kernel, four), c(*kernel, {}),
      d(*kernel, three);
  EXPECT_NE(immediates(*a), immediates(*b));
  EXPECT_EQ(immediates(*a), immediates(*d));
  EXPECT_EQ(immediates(*c), immediates(kernel->program()));
  EXPECT_NE(&*a, &*d);
}

TEST(LaunchConstants, AreThoseOfTheLaunchUnderTheCheckerToo) {
  const Expression e = written([](Expression& x) { return x.input(0) * 2.0 + x.input(1); });
  const auto kernel = compile_expression(e, building(load_architecture("trn2")));
  std::vector<float> one(120, 1), four(120, 4), result(120);
  std::byte* arguments[] = {reinterpret_cast<std::byte*>(one.data()),
                            reinterpret_cast<std::byte*>(four.data()),
                            reinterpret_cast<std::byte*>(result.data())};
  for (const bool checks : {false, true, false}) {
    set_checking(checks);
    for (const double number : {3.0, 2.0, -0.5, 3.0}) {
      launch(0, Schedule::kDefaultStream, kernel, arguments, std::array{number});
      EXPECT_EQ(result, std::vector<float>(120, static_cast<float>(number) + 4))
          << number << (checks ? ", checked" : "");
    }
  }
  EXPECT_TRUE(take_findings().empty());
}

TEST(LaunchConstants, ThatAreThoseOfTheProgramNeedNoCopy) {
  const Expression e = written([](Expression& x) { return x.input(0) * -0.0; });
  const auto kernel = compile_expression(e, building(load_architecture("trn2")));
  const std::vector<double> same{-0.0}, other{0.0};
  const Kernel::ProgramOfLaunch a(*kernel, same), b(*kernel, other);
  EXPECT_EQ(&*a, &kernel->program());
  EXPECT_NE(&*b, &kernel->program());
}

TEST(ExpressionForm, SeparatesStructureFromConstants) {
  const auto form = [](double a, double b) {
    return written([&](Expression& e) { return (e.input(0) + a) * b; }).form();
  };
  EXPECT_EQ(form(1, 2).structure, form(3, 0.5).structure);
  EXPECT_EQ(form(3, 0.5).constants, (std::vector<double>{3, 0.5}));
  EXPECT_NE(form(1, 2).structure, form(2, 2).structure);  // one constant
  const auto unneeded = [](double a) {
    return written([&](Expression& e) { return e.input(0) + e.constant(a) * e.constant(4); })
        .form();
  };
  EXPECT_EQ(unneeded(2).structure, unneeded(3).structure);
  EXPECT_EQ(unneeded(3).constants, std::vector<double>{12});
  EXPECT_NE(written([](Expression& e) { return e.input(0) + 1.0; }).form().structure,
            written([](Expression& e) { return e.input(0) - 1.0; }).form().structure);
}

}  // namespace
}  // namespace neuron_sim
