#include "device/tracing/index_expression.h"

#include <gtest/gtest.h>

#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {
namespace {

const char* const kBeyond = "an index expression is beyond 64 bits.";

class DrawnExpression : public testing::TestWithParam<int> {
 protected:
  Draws draws{GetParam()};
  const IndexExpression a = draws.expression(), b = draws.expression();
  const int64_t factor = draws.number(-3, 3), constant = draws.number(-9, 9);
};

TEST_P(DrawnExpression, SumsAsItsValuesDo) {
  const IndexExpression both = sum(a, b, factor);
  for_all(kTile, [&](const Sizes& p, int64_t i, int64_t j) {
    EXPECT_EQ(at(both, p, i, j), at(a, p, i, j) + factor * at(b, p, i, j));
  });
}

TEST_P(DrawnExpression, ScalesAsItsValuesDoAndIsTheSameAddress) {
  const IndexExpression made = scaled(a, factor, constant);
  EXPECT_EQ(product(a, {factor, {}, {}}), scaled(a, factor));
  for_all(a.shape, [&](const Sizes& p, int64_t i, int64_t j) {
    const int64_t variables[] = {i, j};
    EXPECT_EQ(at(made, p, i, j), at(a, p, i, j) * factor + constant);
    EXPECT_EQ(made.position.affine().at(variables), at(made.position, i, j));
  });
}

TEST_P(DrawnExpression, HasTheBoundsOfItsValues) {
  Bounds expected{INT64_MAX, INT64_MIN};
  for_all(a.shape, [&](const Sizes& p, int64_t i, int64_t j) {
    expected.low = std::min(expected.low, at(a, p, i, j));
    expected.high = std::max(expected.high, at(a, p, i, j));
  });
  EXPECT_EQ(a.bounds(), expected);
}

TEST_P(DrawnExpression, DividesAsItsValuesDoWhereAQuotientIsAffine) {
  const int64_t divisor = std::array{-3, -2, -1, 1, 2, 40}[static_cast<size_t>(GetParam() % 6)];
  const IndexExpression of = scaled(a, 6, constant + 200 * (GetParam() % 2));
  Division made;
  const bool is_affine = refusal_of([&] { made = divide(of, divisor); }).empty();
  if (divisor < 40) {
    EXPECT_TRUE(is_affine);
  }
  for_all(is_affine ? of.shape : Sizes{0}, [&](const Sizes& p, int64_t i, int64_t j) {
    const double value = static_cast<double>(at(of, p, i, j));
    const int64_t quotient = at(made.quotient, p, i, j);
    EXPECT_EQ(quotient, static_cast<int64_t>(std::floor(value / static_cast<double>(divisor))));
    EXPECT_EQ(quotient * divisor + at(made.remainder, p, i, j), at(of, p, i, j));
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnExpression, testing::Range(0, 20));

struct Quotient {
  IndexExpression of;
  int64_t divisor;
  const char* expected;  ///< quotient, remainder; or the refusal
};
class DividedExpression : public testing::TestWithParam<Quotient> {};

TEST_P(DividedExpression, IsExactOrRefused) {
  Division made;
  std::string result = refusal_of([&] { made = divide(GetParam().of, GetParam().divisor); });
  if (result.empty()) result = made.quotient.text() + ", " + made.remainder.text();
  EXPECT_EQ(result, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Edges, DividedExpression,
    testing::Values(
        Quotient{scaled(kI, 4, 7), 4, "1 + i, 3"}, Quotient{scaled(kI, 4, -1), 4, "-1 + i, 3"},
        Quotient{scaled(kI, 4), -4, "-1*i, 0"}, Quotient{kI, 3, "0, i"}, Quotient{kI, 2, "needs i"},
        Quotient{sum(kI, kJ), 4, "0, i + j"}, Quotient{sum(kI, kJ), 3, "needs i j"},
        Quotient{arange(4, 4), 4, "1, arange(4)"}, Quotient{scaled(kI, INT64_MIN), -1, kBeyond},
        Quotient{arange(1, 4, 2), 4,
                 "1 + 2*arange(4) divided by 4 is not an affine expression of static loop "
                 "indices."}));

struct Shapes {
  Sizes a, b;
  const char* both;
};
class BroadcastShape : public testing::TestWithParam<Shapes> {};

TEST_P(BroadcastShape, IsThatOfNumpyBothWays) {
  auto [a, b, both] = GetParam();
  const Sizes first = a;
  EXPECT_EQ(refusal_of([&] { broadcast(a, b); }).empty() ? text_of(a) : "refused", both);
  EXPECT_EQ(refusal_of([&] { broadcast(b, first); }).empty() ? text_of(b) : "refused", both);
}

INSTANTIATE_TEST_SUITE_P(Pairs, BroadcastShape,
                         testing::Values(Shapes{{}, {}, "[]"}, Shapes{{}, {3}, "[3]"},
                                         Shapes{{1}, {3}, "[3]"}, Shapes{{3}, {2}, "refused"},
                                         Shapes{{3}, {0}, "refused"}, Shapes{{1}, {0}, "[0]"},
                                         Shapes{{4, 1}, {5}, "[4, 5]"},
                                         Shapes{{4, 2}, {4}, "refused"},
                                         Shapes{{2, 1, 3}, {4, 1}, "[2, 4, 3]"}));

class SumAtTheEdge : public testing::TestWithParam<std::array<int64_t, 3>> {};  // a, b, factor

TEST_P(SumAtTheEdge, IsExactUpTo64BitsAndRefusedBeyond) {
  const auto [a, b, factor] = GetParam();
  const __int128 product = static_cast<__int128>(b) * factor, exact = a + product;
  const auto fits = [](__int128 number) { return number >= INT64_MIN && number <= INT64_MAX; };
  const IndexExpression pairs[][2] = {{{a, {}, {}}, {b, {}, {}}},
                                      {arange(0, 2, a), arange(0, 2, b)},
                                      {scaled(kI, a), scaled(kI, b)}};
  for (const auto& pair : pairs) {
    EXPECT_EQ(refusal_of([&] { sum(pair[0], pair[1], factor); }),
              fits(product) && fits(exact) ? "" : kBeyond);
  }
}

using Numbers = std::array<int64_t, 3>;
INSTANTIATE_TEST_SUITE_P(Numbers, SumAtTheEdge,
                         testing::Values(Numbers{INT64_MAX - 1, 1, 1}, Numbers{INT64_MAX, 1, 1},
                                         Numbers{INT64_MIN + 1, 1, -1}, Numbers{INT64_MIN, 1, -1},
                                         Numbers{1, INT64_MAX / 2, 2}, Numbers{2, INT64_MAX / 2, 2},
                                         Numbers{-1, INT64_MIN, -1}, Numbers{5, INT64_MAX, -2}));

TEST(IndexExpression, VanishesIntoANumberButKeepsItsDimensions) {
  EXPECT_EQ(sum(sum(kI, kJ), sum(kI, kJ), -1).text(), "0");
  EXPECT_TRUE(sum(sum(kI, kJ), sum(kI, kJ), -1).is_number());
  EXPECT_FALSE(sum(kI, kJ).is_number());
  EXPECT_FALSE(scaled(arange(0, 4), 0).is_number());
  EXPECT_EQ(sum(scaled(kI, -2, 5), arange(0, 4)).text(), "5 + -2*i + arange(4)");
}

TEST(IndexExpression, TimesAnotherNeedsNumbersOrIsNotAffine) {
  EXPECT_EQ(refusal_of([] { product(arange(0, 4), kI); }), "needs i");
  EXPECT_EQ(refusal_of([] { product(kJ, arange(0, 4)); }), "needs j");
  EXPECT_EQ(refusal_of([] { product(arange(1, 4), arange(0, 4)); }),
            "the product of 1 + arange(4) and arange(4) is not an affine expression of static loop "
            "indices.");
  EXPECT_EQ(refusal_of([] { sum(arange(0, 3), arange(0, 2)); }),
            "index shapes [3] and [2] cannot be broadcast together.");
}

TEST(Bounds, SaturateAt64BitsOnBothSides) {
  EXPECT_EQ(arange(1, 3, INT64_MAX).bounds(), (Bounds{1, INT64_MAX}));
  EXPECT_EQ(arange(-1, 3, INT64_MIN).bounds(), (Bounds{INT64_MIN, -1}));
  EXPECT_EQ(arange(0, 2, INT64_MAX).bounds(), (Bounds{0, INT64_MAX}));
}

TEST(Position, HoldsAsManyLoopsAsItSaysAndNoMore) {
  std::vector<Loop> loops(kMaximumTerms + 1);
  Position position;
  for (size_t k = 0; k < kMaximumTerms; ++k) position.add(Term{&loops[k], 1});
  position.add(Term{&loops[0], 1});  // which it has already
  EXPECT_EQ(position.terms[0].coefficient, 2);
  EXPECT_EQ(refusal_of([&] {
              position.add(Term{&loops.back(), 1});
            }),
            "an index expression has more than 12 loop variables.");
}

}  // namespace
}  // namespace neuron_sim::tracing
