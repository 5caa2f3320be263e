#include "device/isa/tensor/tile_multiply.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/device/isa/product_oracle.h"

namespace neuron_sim {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  int64_t depth, columns, elements;
  int64_t gaps[3] = {0, 0, 0};  ///< of the rows of stationary, moving and target
  bool bf16 = false;            ///< the values are of bf16, and the kernel may use that
};

/// Operands and a target in buffers whose gaps hold a mark.
class Product {
 public:
  template <typename Value>
  Product(const Case& size, Value&& value) : size_(size) {
    for (int i = 0; i < 3; ++i) {
      const int64_t lengths[] = {size.columns, size.elements, size.elements};
      const int64_t rows[] = {size.depth, size.depth, size.columns};
      pitches_[i] = lengths[i] + size.gaps[i];
      data_[i].assign(static_cast<size_t>(rows[i] * pitches_[i] + 3), kMark);
      for (int64_t row = 0; row < rows[i]; ++row) {
        for (int64_t j = 0; j < lengths[i]; ++j) at(i, row, j) = value();
      }
    }
  }

  void expect_from(const ProductKernel& kernel, bool accumulate) {
    const std::vector<float> before = data_[2];
    std::vector<float> expected = before;
    for (int64_t m = 0; m < size_.columns; ++m) {
      for (int64_t n = 0; n < size_.elements; ++n) {
        float& target = expected[static_cast<size_t>(m * pitches_[2] + n)];
        target = element(m, n, accumulate ? &target : nullptr);
      }
    }
    multiply_tile({size_.columns, size_.elements, size_.depth, data_[0].data(), pitches_[0],
                   data_[1].data(), pitches_[1], data_[2].data(), pitches_[2], accumulate,
                   size_.bf16},
                  kernel);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(data_[2][i]), std::bit_cast<uint32_t>(expected[i]))
          << kernel.name << ": K " << size_.depth << " M " << size_.columns << " N "
          << size_.elements << " accumulate " << accumulate << " at " << i << ": " << data_[2][i]
          << " instead of " << expected[i];
    }
    data_[2] = before;
  }

 private:
  static constexpr float kMark = -77.25F;

  float& at(int which, int64_t row, int64_t i) {
    return data_[which][static_cast<size_t>(row * pitches_[which] + i)];
  }
  /// The definition, one element at a time.
  float element(int64_t m, int64_t n, const float* before) {
    const float sum = product_sum(
        size_.depth, [&](int64_t k) { return at(0, k, m); }, [&](int64_t k) { return at(1, k, n); },
        before, size_.bf16);
    return std::isnan(sum) ? std::bit_cast<float>(kProductNanBits) : sum;
  }

  Case size_;
  std::vector<float> data_[3];
  int64_t pitches_[3];
};

/// Values whose products and sums round, cancel, overflow and underflow: random signs and
/// significands, exponents from `lowest` to `highest`.
class Values {
 public:
  Values(int lowest, int highest, unsigned seed) : exponent_(lowest, highest), generator_(seed) {}
  float operator()() {
    const float significand = 1 + static_cast<float>(generator_() >> 9) * 0x1p-23F;
    const float value = std::ldexp(significand, exponent_(generator_));
    return (generator_() & 1) != 0 ? -value : value;
  }

 private:
  std::uniform_int_distribution<int> exponent_;
  std::mt19937 generator_;
};

class EveryProductKernel : public ::testing::TestWithParam<const ProductKernel*> {
 protected:
  void SetUp() override {
    if (!kernel().runs_here()) GTEST_SKIP() << "this host lacks " << kernel().name;
  }
  const ProductKernel& kernel() const { return *GetParam(); }
  template <typename Value>
  void expect_case(const Case& size, Value&& value) {
    Product product(size, value);
    for (const bool accumulate : {false, true}) product.expect_from(kernel(), accumulate);
  }
};

TEST_P(EveryProductKernel, GivesTheBytesOfTheDefinitionForEveryNumberOfColumns) {
  Values values(-3, 3, 1);
  for (int64_t columns = 0; columns <= 40; ++columns) {
    for (const int64_t elements : {0, 1, 7, 16, 33}) {
      expect_case({5, columns, elements, {3, 1, 2}}, values);
    }
  }
}

TEST_P(EveryProductKernel, GivesTheBytesOfTheDefinitionForEveryNumberOfElements) {
  Values values(-3, 3, 2);
  for (int64_t elements = 1; elements <= 140; ++elements) {
    for (const int64_t columns : {1, 4, 13, 29}) {
      expect_case({3, columns, elements, {1, 5, 0}}, values);
    }
  }
}

TEST_P(EveryProductKernel, GivesTheBytesOfTheDefinitionForEveryDepth) {
  Values values(-3, 3, 3);
  for (const int64_t depth : {0, 1, 2, 3, 31, 64, 127, 128, 129, 255, 256, 511, 512}) {
    expect_case({depth, 7, 50}, values);
    expect_case({depth, 50, 7, {0, 9, 1}}, values);
  }
}

TEST_P(EveryProductKernel, GivesTheBytesOfTheDefinitionForWholeTiles) {
  Values values(-3, 3, 4);
  for (const Case& size : {Case{128, 128, 512, {49168, 49168, 3600}}, Case{128, 64, 222},
                           Case{127, 128, 512, {16, 16, 0}}, Case{27, 64, 512}}) {
    expect_case(size, values);
  }
}

TEST_P(EveryProductKernel, RoundsOncePerMultiplyAddWhateverTheExponents) {
  Values cancelling(-1, 1, 5), wide(-30, 30, 6), huge(58, 66, 7), tiny(-76, -70, 8);
  for (int round = 0; round < 20; ++round) {
    expect_case({40, 9, 35}, cancelling);
    expect_case({40, 9, 35}, wide);
    expect_case({40, 9, 35}, huge);  // overflows
    expect_case({40, 9, 35}, tiny);  // subnormal sums
  }
}

TEST_P(EveryProductKernel, DoesNotRoundTwice) {
  // Products of fp32 that are not quite 2^-24; beside 1 and 1 + 2^-23 the difference lies below the
  // last bit of fp64, where the sum would be half-way between two values of fp32.
  const float more[] = {8384513, 8392705 * 0x1p-70F};        // 2^-24 + 2^-70
  const float less[] = {1 + 0x1p-23F, 0x1p-24F - 0x1p-47F};  // 2^-24 - 2^-70
  const auto sum = [&](float first, const float(&product)[2], float sign) {
    const float a[] = {1, product[0]}, b[] = {first, sign * product[1]};
    float target = 5;
    multiply_tile({1, 1, 2, a, 1, b, 1, &target, 1, false}, kernel());
    return target;
  };
  EXPECT_EQ(sum(1, more, 1), 1 + 0x1p-23F);
  EXPECT_EQ(sum(-1, more, -1), -1 - 0x1p-23F);
  EXPECT_EQ(sum(1 + 0x1p-23F, less, 1), 1 + 0x1p-23F);
  EXPECT_EQ(sum(-1 - 0x1p-23F, less, -1), -1 - 0x1p-23F);
  EXPECT_EQ(sum(1 + 0x1p-23F, more, -1), 1.0F);
  EXPECT_EQ(sum(1 + 0x1p-22F, less, -1), 1 + 0x1p-22F);
}

TEST_P(EveryProductKernel, MakesOneNanOfAllAndKeepsInfinitiesAndZeros) {
  std::mt19937 generator(9);
  const float odd_nan = std::bit_cast<float>(0xFFC12345U);
  const float specials[] = {kInfinity, -kInfinity, kNan, odd_nan, -kNan, 0.0F, -0.0F, 1e-45F,
                            -1e-45F,   3.4e38F,    1.0F, -1.0F,   2.5F,  0.0F, 1.0F,  -0.0F};
  for (const unsigned rarity : {1U, 20U, 400U}) {
    const auto value = [&] {
      return generator() % rarity == 0 ? specials[generator() % 16] : 1.5F;
    };
    for (const Case& size : {Case{1, 3, 40}, Case{9, 14, 33, {1, 1, 1}}, Case{30, 40, 3}}) {
      expect_case(size, value);
    }
  }
  expect_case({6, 7, 40}, [] { return -0.0F; });
}

TEST_P(EveryProductKernel, LeavesTheTargetUnreadUnlessItAccumulates) {
  const std::vector<float> ones(64, 1.0F);
  for (const int64_t elements : {1, 16, 19}) {
    std::vector<float> target(64, std::bit_cast<float>(0x7F812345U));  // signalling
    multiply_tile(
        {3, elements, 2, ones.data(), 3, ones.data(), elements, target.data(), elements, false},
        kernel());
    for (int64_t i = 0; i < 3 * elements; ++i) EXPECT_EQ(target[static_cast<size_t>(i)], 2);
  }
}

/// The numbers cut to the significands of bf16.
template <typename Value>
auto cut_to_bf16(Value& value) {
  return [&value] {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(float{value()}) & 0xFFFF0000U);
  };
}

TEST_P(EveryProductKernel, GivesTheBytesOfTheDefinitionForBf16) {
  Values values(-3, 3, 10);
  for (const int64_t depth : {1, 2, 3, 31, 32, 33, 62, 63, 64, 65, 127, 128, 512}) {
    for (const int64_t columns : {1, 2, 6, 7, 16, 17, 25, 33, 128}) {
      expect_case({depth, columns, 50, {1, 2, 3}, true}, cut_to_bf16(values));
    }
  }
  for (int64_t elements = 1; elements <= 140; elements += 3) {
    expect_case({5, 37, elements, {3, 1, 2}, true}, cut_to_bf16(values));
  }
  expect_case({128, 128, 512, {0, 16, 0}, true}, cut_to_bf16(values));
}

TEST_P(EveryProductKernel, GivesTheBytesOfTheDefinitionForBf16OfAnyExponents) {
  // Around 2^-56 of both operands, partial sums begin to fall below the normal numbers.
  const int exponents[][2] = {{-1, 1},     {-30, 30},    {58, 66},    {-57, -54},
                              {-56, -56},  {-60, -50},   {-64, -60},  {-76, -70},
                              {-133, 127}, {-126, -120}, {-133, -110}};
  unsigned seed = 11;
  for (const auto& [lowest, highest] : exponents) {
    Values values(lowest, highest, ++seed);
    for (int round = 0; round < 5; ++round) {
      expect_case({40, 30, 35, {}, true}, cut_to_bf16(values));
    }
  }
}

TEST_P(EveryProductKernel, GivesTheBytesOfTheDefinitionForBf16WithOneTinyElement) {
  Values values(-3, 3, 30);
  const float tiny[] = {0x1p-133F, -0x1p-126F, 0x1p-109F, 0x1p-108F};
  for (const float element : tiny) {
    for (const int64_t position : {0, 7000, 30 * 128, 30 * 128 + 400, 30 * 128 + 30 * 300 - 1}) {
      int64_t count = 0;
      const auto cut = cut_to_bf16(values);
      expect_case({30, 128, 300, {}, true},
                  [&] { return count++ == position ? element : 0x1p-10F * cut(); });
    }
  }
}

TEST_P(EveryProductKernel, MakesOneNanOfAllAndKeepsInfinitiesAndZerosOfBf16) {
  std::mt19937 generator(31);
  const float odd_nan = std::bit_cast<float>(0xFFC10000U);
  const float specials[] = {kInfinity, -kInfinity, kNan,       odd_nan,     -kNan, 0.0F,
                            -0.0F,     0x1p-133F,  -0x1p-133F, 0x1.FEp127F, 1.0F,  -1.0F};
  for (const unsigned rarity : {1U, 20U, 400U}) {
    for (const unsigned kinds : {7U, 12U}) {
      const auto value = [&] {
        return generator() % rarity == 0 ? specials[generator() % kinds] : 1.5F;
      };
      for (const int64_t depth : {1, 9, 30}) expect_case({depth, 40, 33, {1, 1, 1}, true}, value);
    }
  }
  expect_case({6, 27, 40, {}, true}, [] { return -0.0F; });
}

INSTANTIATE_TEST_SUITE_P(ProductKernels, EveryProductKernel,
                         ::testing::ValuesIn(product_kernels().begin(), product_kernels().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace neuron_sim
