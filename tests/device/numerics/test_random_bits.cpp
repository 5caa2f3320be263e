#include "device/numerics/random_bits.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace neuron_sim {
namespace {

using State = std::vector<uint32_t>;

std::vector<uint32_t> numbers(RandomGenerator generator, State& state, int64_t count) {
  std::vector<uint32_t> result(static_cast<size_t>(count));
  random_bits(generator, state.data(), result.data(), count);
  return result;
}

TEST(RandomBits, XorwowIsMarsagliaS) {
  State state = {123456789, 362436069, 521288629, 88675123, 5783321, 6615241};
  EXPECT_EQ(numbers(RandomGenerator::kXorwow, state, 5),
            (std::vector<uint32_t>{246875399, 3690007200, 1264581005, 3906711041, 1866187943}))
      << "with the state of the paper";
  EXPECT_EQ(state[5], 6615241U + 5 * 362437U);
}

TEST(RandomBits, XorwowOfZerosCounts) {
  State state(6, 0);
  EXPECT_EQ(numbers(RandomGenerator::kXorwow, state, 3),
            (std::vector<uint32_t>{362437, 2 * 362437, 3 * 362437}));
}

TEST(RandomBits, FourXorwowGeneratorsTakeTurnsFromTheFirstInEveryCall) {
  State all(24);
  for (int lane = 0; lane < 4; ++lane) seed_random_state(7, lane, all.data() + 6 * lane, 6);
  std::array<State, 4> apart;
  for (size_t i = 0; i < 4; ++i) apart[i] = State(all.begin() + 6 * i, all.begin() + 6 * i + 6);
  for (const int count : {1, 4, 7, 64}) {
    const std::vector<uint32_t> together = numbers(RandomGenerator::kFourXorwow, all, count);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(together[static_cast<size_t>(i)],
                numbers(RandomGenerator::kXorwow, apart[static_cast<size_t>(i % 4)], 1)[0]);
    }
  }
}

/// The bits that a linear feedback shift register of `length` bits gives after those at the top of
/// `word`: x[n] = x[n - length] ^ x[n - length + tap].
std::vector<int> register_bits(uint32_t word, int length, int tap, int count) {
  std::vector<int> bits;
  for (int i = 0; i < length; ++i) bits.push_back(static_cast<int>(word >> (31 - i) & 1));
  for (int n = length; n < count; ++n) {
    bits.push_back(bits[static_cast<size_t>(n - length)] ^
                   bits[static_cast<size_t>(n - length + tap)]);
  }
  return bits;
}

TEST(RandomBits, LinearFeedbackNumbersAreWindowsOfFourShiftRegisters) {
  constexpr int kLengths[] = {31, 29, 28, 25}, kTaps[] = {6, 2, 13, 3}, kSteps[] = {18, 2, 7, 13};
  constexpr int kCount = 100;
  State state(24);
  seed_random_state(99, 5, state.data(), 24);
  std::vector<uint32_t> expected(kCount, 0);
  for (size_t r = 0; r < 4; ++r) {
    const std::vector<int> bits =
        register_bits(state[r], kLengths[r], kTaps[r], kCount * kSteps[r] + 64);
    for (int n = 0; n < kCount; ++n) {
      uint32_t window = 0;
      for (int i = 0; i < 32; ++i) {
        const auto at = static_cast<size_t>((n + 1) * kSteps[r] + i);
        window = window << 1 | static_cast<uint32_t>(bits[at]);
      }
      expected[static_cast<size_t>(n)] ^= window;
    }
  }
  const State before = state;
  EXPECT_EQ(numbers(RandomGenerator::kLinearFeedback, state, kCount), expected);
  EXPECT_TRUE(std::equal(before.begin() + 4, before.end(), state.begin() + 4)) << "unused words";
}

TEST(RandomBits, SeedsAreSplitmix64AndAllLanesDiffer) {
  State state(24);
  seed_random_state(0, 0, state.data(), 24);
  // The published first numbers of SplitMix64 from 0 are E220A839..., 6E789E6A..., 06C45D18...
  EXPECT_EQ(state[0], 0xE220A839U | 0x80U);
  EXPECT_EQ(state[1], 0x6E789E6AU | 0x80U);
  EXPECT_EQ(state[2], 0x06C45D18U | 0x80U);
  std::set<State> states;
  for (const uint32_t seed : {0U, 1U, 0xFFFFFFFFU}) {
    for (int64_t lane = 0; lane < 128; ++lane) {
      seed_random_state(seed, lane, state.data(), 24);
      EXPECT_TRUE(states.insert(state).second);
      State short_state(6);
      seed_random_state(seed, lane, short_state.data(), 6);
      EXPECT_TRUE(states.insert(short_state).second);
      for (const uint32_t word : state) EXPECT_TRUE((word & 0x80U) != 0);
    }
  }
}

/// Statistics over all lanes of a generator; every bound is five standard deviations.
void expect_randomness(RandomGenerator generator, int words) {
  constexpr int kLanes = 128, kPerLane = 4096;
  constexpr double kCount = kLanes * kPerLane;
  double sum = 0, squares = 0, serial = 0, across = 0;
  std::array<double, 32> ones{};
  std::vector<double> previous(kPerLane, 0);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    State state(static_cast<size_t>(words));
    seed_random_state(12345, lane, state.data(), words);
    double last = 0;
    size_t index = 0;
    for (const uint32_t bits : numbers(generator, state, kPerLane)) {
      const double centred = (bits + 0.5) * 0x1p-32 - 0.5;
      sum += centred;
      squares += centred * centred;
      serial += centred * last;
      across += centred * previous[index];
      last = previous[index++] = centred;
      for (size_t bit = 0; bit < 32; ++bit) ones[bit] += bits >> bit & 1;
    }
  }
  const double bound = 5 / std::sqrt(kCount);
  EXPECT_LT(std::abs(sum / kCount), bound * std::sqrt(1.0 / 12));
  EXPECT_LT(std::abs(squares / kCount - 1.0 / 12), bound * std::sqrt(1.0 / 180));
  EXPECT_LT(std::abs(serial / kCount), bound / 12) << "neighbours in a lane";
  EXPECT_LT(std::abs(across / kCount), bound / 12) << "neighbouring lanes";
  for (size_t bit = 0; bit < 32; ++bit) {
    EXPECT_LT(std::abs(ones[bit] / kCount - 0.5), bound / 2) << "bit " << bit;
  }
}

TEST(RandomBits, MeanVarianceCorrelationAndBitsAreThoseOfRandomNumbers) {
  expect_randomness(RandomGenerator::kLinearFeedback, 24);
  expect_randomness(RandomGenerator::kXorwow, 6);
  expect_randomness(RandomGenerator::kFourXorwow, 24);
}

}  // namespace
}  // namespace neuron_sim
