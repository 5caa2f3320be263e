#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "device/numerics/activation_functions.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

float value_of(Activation function, float x) {
  float result = 0;
  apply(function, &x, &result, 1);
  return result;
}

/// Distance of `actual` from the real number `exact`, in units in the last place of fp32.
double error_in_ulps(float actual, double exact) {
  if (std::isinf(static_cast<float>(exact))) return actual == static_cast<float>(exact) ? 0 : 1e9;
  int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::abs(static_cast<double>(actual) - exact) / std::ldexp(1.0, exponent - 23);
}

/// Every 997th bit pattern of fp32 (about 4.3 million values, denormals included), not NaN.
void expect_accuracy(
    Activation function, double ulps, const std::function<double(double)>& exact,
    const std::function<bool(float)>& in_domain = [](float) { return true; }) {
  double worst = 0;
  float worst_at = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 997) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(x) || !in_domain(x)) continue;
    const double error = error_in_ulps(value_of(function, x), exact(x));
    if (error > worst) {
      worst = error;
      worst_at = x;
    }
  }
  EXPECT_LE(worst, ulps) << name(function) << " at " << worst_at;
  ::testing::Test::RecordProperty(std::string(name(function)), std::to_string(worst));
}

TEST(ActivationFunctions, ExpIsWithinOneUnitInTheLastPlace) {
  expect_accuracy(Activation::kExp, 0.51, [](double x) { return std::exp(x); });
}

TEST(ActivationFunctions, SigmoidIsWithinOneUnitInTheLastPlace) {
  expect_accuracy(Activation::kSigmoid, 0.51, [](double x) { return 1 / (1 + std::exp(-x)); });
}

TEST(ActivationFunctions, TanhIsWithinOneUnitInTheLastPlace) {
  expect_accuracy(Activation::kTanh, 0.51, [](double x) { return std::tanh(x); });
}

TEST(ActivationFunctions, GeluIsTheExactFormWithinOneUnitInTheLastPlace) {
  expect_accuracy(Activation::kGelu, 0.51, [](double x) {
    return std::isinf(x) ? std::max(x, 0.0) : 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  });
}

TEST(ActivationFunctions, RootsSquaresAndCopiesAreCorrectlyRounded) {
  auto not_negative = [](float x) { return x >= 0; };
  auto positive = [](float x) { return x > 0; };
  expect_accuracy(
      Activation::kSqrt, 0.5, [](double x) { return std::sqrt(x); }, not_negative);
  expect_accuracy(
      Activation::kRsqrt, 0.501, [](double x) { return 1 / std::sqrt(x); }, positive);
  expect_accuracy(Activation::kSquare, 0.5, [](double x) { return x * x; });
  expect_accuracy(Activation::kRelu, 0, [](double x) { return std::max(x, 0.0); });
  expect_accuracy(Activation::kIdentity, 0, [](double x) { return x; });
}

TEST(ActivationFunctions, NanGivesNanEverywhere) {
  for (int i = 0; i < kActivationCount; ++i) {
    EXPECT_TRUE(std::isnan(value_of(static_cast<Activation>(i), kNan)))
        << name(static_cast<Activation>(i));
  }
}

TEST(ActivationFunctions, InfinitiesAndZerosReachTheirLimits) {
  EXPECT_EQ(value_of(Activation::kExp, -kInf), 0.0F);
  EXPECT_EQ(value_of(Activation::kExp, kInf), kInf);
  EXPECT_EQ(value_of(Activation::kExp, 0.0F), 1.0F);
  EXPECT_EQ(value_of(Activation::kExp, -103.9F), 0x1p-149F) << "denormals are kept";
  EXPECT_EQ(value_of(Activation::kSigmoid, -kInf), 0.0F);
  EXPECT_EQ(value_of(Activation::kSigmoid, kInf), 1.0F);
  EXPECT_EQ(value_of(Activation::kTanh, -kInf), -1.0F);
  EXPECT_EQ(value_of(Activation::kTanh, kInf), 1.0F);
  EXPECT_TRUE(std::signbit(value_of(Activation::kTanh, -0.0F)));
  EXPECT_EQ(value_of(Activation::kTanh, 0x1p-149F), 0x1p-149F);
  EXPECT_EQ(value_of(Activation::kGelu, kInf), kInf);
  EXPECT_EQ(value_of(Activation::kGelu, -kInf), 0.0F);
  EXPECT_EQ(value_of(Activation::kRelu, -kInf), 0.0F);
}

TEST(ActivationFunctions, RootsOfNegativeValuesAreNanAndOfZeroFollowIeee) {
  EXPECT_TRUE(std::isnan(value_of(Activation::kSqrt, -1.0F)));
  EXPECT_TRUE(std::isnan(value_of(Activation::kRsqrt, -1.0F)));
  EXPECT_TRUE(std::isnan(value_of(Activation::kRsqrt, -kInf)));
  EXPECT_EQ(value_of(Activation::kSqrt, kInf), kInf);
  EXPECT_EQ(value_of(Activation::kRsqrt, 0.0F), kInf);
  EXPECT_EQ(value_of(Activation::kRsqrt, -0.0F), -kInf);
  EXPECT_EQ(value_of(Activation::kRsqrt, kInf), 0.0F);
}

TEST(ActivationFunctions, AValueDoesNotDependOnItsPlaceInTheRow) {
  std::vector<double> random = random_values(67, -20, 20);
  std::vector<float> row(random.begin(), random.end());
  for (int i = 0; i < kActivationCount; ++i) {
    const Activation function = static_cast<Activation>(i);
    std::vector<float> result = row;
    apply(function, result.data(), result.data(), static_cast<int64_t>(row.size()));  // in place
    for (size_t k = 0; k < row.size(); ++k) {
      const float alone = value_of(function, row[k]);
      EXPECT_EQ(std::memcmp(&alone, &result[k], sizeof alone), 0) << name(function) << " " << k;
    }
  }
}

TEST(ActivationFunctions, FunctionsInEveryTableHaveNoTableOfTheirOwn) {
  for (const Activation function : {Activation::kIdentity, Activation::kRelu, Activation::kSquare,
                                    Activation::kSign, Activation::kAbs, Activation::kPrelu}) {
    EXPECT_EQ(table_of(function), -1) << name(function);
  }
  std::set<int> tables;
  for (int i = 0; i < kActivationCount; ++i) {
    const int table = table_of(static_cast<Activation>(i));
    if (static_cast<Activation>(i) == Activation::kLog) continue;
    EXPECT_TRUE(table == -1 || tables.insert(table).second) << name(static_cast<Activation>(i));
  }
  EXPECT_EQ(tables.size(), static_cast<size_t>(kActivationCount - 7));
  EXPECT_EQ(table_of(Activation::kLog), table_of(Activation::kExp));
}

TEST(ActivationFunctions, NamesAreTheVendorSAndParseBack) {
  for (int i = 0; i < kActivationCount; ++i) {
    const Activation function = static_cast<Activation>(i);
    EXPECT_EQ(parse_activation(name(function)), function);
  }
  EXPECT_EQ(name(Activation::kIdentity), "copy");
  EXPECT_EQ(name(Activation::kGeluApproximateSigmoidDx), "gelu_apprx_sigmoid_dx");
  EXPECT_EQ(name(Activation::kReciprocal), "reciprocal");
  EXPECT_EQ(parse_activation("identity"), Activation::kIdentity);
  EXPECT_EQ(parse_activation("absolute"), Activation::kAbs);
  EXPECT_EQ(parse_activation("softmax"), std::nullopt);
  EXPECT_EQ(parse_activation(""), std::nullopt);
}

}  // namespace
}  // namespace neuron_sim
