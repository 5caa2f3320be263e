// What index expressions look like in messages, and the edges of their arithmetic one by one.

#include <gtest/gtest.h>

#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {
namespace {

struct Written {
  IndexExpression expression;
  const char* text;
};
class WrittenExpression : public testing::TestWithParam<Written> {};

TEST_P(WrittenExpression, LooksAsTheKernelCouldHaveWrittenIt) {
  EXPECT_EQ(GetParam().expression.text(), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, WrittenExpression,
    testing::Values(Written{{}, "0"}, Written{{-3, {}, {}}, "-3"}, Written{kI, "i"},
                    Written{scaled(kI, -1), "-1*i"}, Written{scaled(kI, 1, 1), "1 + i"},
                    Written{variable(outer, 2, 4), "2 + 4*i"}, Written{sum(kJ, kI), "j + i"},
                    Written{arange(0, 4), "arange(4)"}, Written{arange(0, 4, 0), "0"},
                    Written{arange(5, 4, -2), "5 + -2*arange(4)"},
                    Written{{0, {4, 3}, {1, 7}}, "arange(4) + 7*arange(3)"},
                    Written{sum(kI, arange(0, 4)), "i + arange(4)"}));

struct Repeated {
  Sizes shape, steps;
  size_t dimension;
  int64_t size, step;
};
class StepOfAnIndex : public testing::TestWithParam<Repeated> {};

TEST_P(StepOfAnIndex, IsZeroWhereOnePositionIsRepeated) {
  const IndexExpression index{0, GetParam().shape, GetParam().steps};
  EXPECT_EQ(index.step_in(GetParam().dimension, GetParam().size), GetParam().step);
}

INSTANTIATE_TEST_SUITE_P(Edges, StepOfAnIndex,
                         testing::Values(Repeated{{4, 1}, {3, 5}, 0, 4, 3},
                                         Repeated{{4, 1}, {3, 5}, 1, 1, 5},
                                         Repeated{{4, 1}, {3, 5}, 1, 2, 0},
                                         Repeated{{4, 1}, {3, 5}, 1, 0, 0}));

struct Floored {
  int64_t a, b, quotient;
};
class FloorQuotient : public testing::TestWithParam<Floored> {};

TEST_P(FloorQuotient, IsRoundedDownAsPythons) {
  EXPECT_EQ(floor_quotient(GetParam().a, GetParam().b), GetParam().quotient);
}

INSTANTIATE_TEST_SUITE_P(Signs, FloorQuotient,
                         testing::Values(Floored{7, 2, 3}, Floored{-7, 2, -4}, Floored{7, -2, -4},
                                         Floored{-7, -2, 3}, Floored{6, 2, 3}, Floored{-6, 2, -3},
                                         Floored{6, -2, -3}, Floored{0, -5, 0}, Floored{1, 5, 0},
                                         Floored{-1, 5, -1}, Floored{INT64_MIN, 1, INT64_MIN},
                                         Floored{INT64_MAX, -1, -INT64_MAX}));

struct Saturated {
  int64_t sum, a, b, result;
};
class SaturatedSum : public testing::TestWithParam<Saturated> {};

TEST_P(SaturatedSum, StopsAtTheNumberThatIsNearest) {
  int64_t result = GetParam().sum;
  add_saturated(result, GetParam().a, GetParam().b);
  EXPECT_EQ(result, GetParam().result);
  if (GetParam().sum == 0) {
    EXPECT_EQ(saturated_product(GetParam().a, GetParam().b), GetParam().result);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Edges, SaturatedSum,
    testing::Values(Saturated{5, 3, -2, -1}, Saturated{0, INT64_MAX, 1, INT64_MAX},
                    Saturated{1, INT64_MAX, 1, INT64_MAX}, Saturated{0, INT64_MAX, 2, INT64_MAX},
                    Saturated{0, INT64_MAX, -2, INT64_MIN}, Saturated{0, INT64_MIN, -1, INT64_MAX},
                    Saturated{0, INT64_MIN, 2, INT64_MIN}, Saturated{-1, INT64_MIN, 1, INT64_MIN},
                    Saturated{0, 0, INT64_MIN, 0}, Saturated{INT64_MIN, -1, 1, INT64_MIN},
                    Saturated{-2, 1LL << 62, 2, INT64_MAX}));

TEST(Position, AddsTheSameLoopOnceAndDropsItAtZero) {
  Position position = 5;
  position.add(Term{&outer, 0});
  EXPECT_EQ(position, Position(5));
  position.add(kI.position, 3);
  position.add(kJ.position);
  position.add(kI.position, -3);
  EXPECT_EQ(position.terms.size(), 1U);
  EXPECT_EQ(position.terms[0], (Term{&inner, 1}));
}

TEST(Position, MayBeAddedToItselfUnlessATermVanishes) {
  Position doubled = variable(outer, 4, 3).position;
  doubled.add(Position(doubled));
  EXPECT_EQ(doubled, variable(outer, 8, 6).position);
}

TEST(Position, HasTheBoundsOfItsFirstAndLastTrip) {
  EXPECT_EQ(Position(7).bounds(), (Bounds{7, 7}));
  EXPECT_EQ(variable(outer, 7, 2).position.bounds(), (Bounds{7, 11}));
  EXPECT_EQ(variable(outer, 7, -2).position.bounds(), (Bounds{3, 7}));
  EXPECT_EQ(sum(variable(outer, 0, 2), variable(inner, 0, -5)).bounds(), (Bounds{-5, 4}));
}

TEST(Position, OfALoopOfOneTripIsItsStart) {
  const Loop once{.name = "k", .trip_count = 1, .variable = Affine::variable(0)};
  EXPECT_EQ(variable(once, 3, 100).bounds(), (Bounds{3, 3}));
  EXPECT_EQ(divide(variable(once, 3, 3), 100).remainder.bounds(), (Bounds{3, 3}));
}

TEST(Position, IsTheSameForTheBuilder) {
  const int64_t variables[] = {2, 1};
  const Position position = sum(variable(outer, 4, 3), variable(inner, 0, -7)).position;
  EXPECT_EQ(position.affine().at(variables), 4 + 3 * 2 - 7);
  EXPECT_EQ(Position(9).affine().at(variables), 9);
}

TEST(IndexExpression, OfOtherShapesOrStepsIsAnother) {
  EXPECT_EQ(arange(1, 4), arange(1, 4, 1));
  EXPECT_FALSE(arange(1, 4) == arange(1, 5));
  EXPECT_FALSE(arange(1, 4) == arange(1, 4, 2));
  EXPECT_FALSE(arange(1, 4) == arange(2, 4));
  EXPECT_FALSE(kI == kJ);
  EXPECT_FALSE(kI == scaled(kI, 2));
}

TEST(IndexExpression, IsBroadcastInASumButNotWhereItsSizeIsOneOfOne) {
  const IndexExpression column{0, {4, 1}, {2, 9}}, row{0, {1, 3}, {9, 5}};
  const IndexExpression both = sum(column, row, -1);
  EXPECT_EQ(text_of(both.shape), "[4, 3]");
  EXPECT_EQ(text_of(both.steps), "[2, -5]");
  EXPECT_EQ(text_of(sum(column, column).steps), "[4, 18]");
  EXPECT_EQ(text_of(sum(kI, row).steps), "[9, 5]");
}

TEST(IndexExpression, TimesZeroHasNoLoopsButItsShape) {
  const IndexExpression zero = product(sum(kI, arange(3, 4, 2)), {});
  EXPECT_TRUE(zero.position.terms.empty());
  EXPECT_EQ(zero, arange(0, 4, 0));
}

TEST(Division, KeepsTheShapeOfAnArangeInBothParts) {
  const Division made = divide(arange(6, 4, 4), 4);
  EXPECT_EQ(made.quotient, arange(1, 4, 1));
  EXPECT_EQ(made.remainder, arange(2, 4, 0));
  const Division small = divide(arange(-4, 4), 4);
  EXPECT_EQ(small.quotient, arange(-1, 4, 0));
  EXPECT_EQ(small.remainder, arange(0, 4));
}

TEST(Division, ByAMinimalDivisorHasAQuotientOfZeroOrOne) {
  EXPECT_EQ(divide(scaled(kI, -1), INT64_MIN).remainder, scaled(kI, -1));
  EXPECT_EQ(refusal_of([] { divide(kI, INT64_MIN); }), "needs i");  // 0 and -1
  EXPECT_EQ(divide({INT64_MIN, {}, {}}, INT64_MIN).quotient.position, Position(1));
}

TEST(Loops, AreNamedInTheOrderOfTheExpression) {
  EXPECT_EQ(refusal_of([] { divide(sum(kJ, kI), 3); }), "needs j i");
  EXPECT_EQ(refusal_of([] { divide(sum(kI, arange(0, 4)), 3); }), "needs i");
  EXPECT_EQ(refusal_of([] { product(sum(kI, arange(0, 4)), sum(kJ, kI)); }), "needs j i");
}

}  // namespace
}  // namespace neuron_sim::tracing
