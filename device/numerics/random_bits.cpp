#include "device/numerics/random_bits.h"

namespace neuron_sim {
namespace {

struct Xorwow {
  static constexpr int kWords = 6;
  uint32_t* words;

  uint32_t next() const {
    const uint32_t shifted = words[0] ^ (words[0] >> 2);
    for (int i = 0; i < 4; ++i) words[i] = words[i + 1];
    words[4] = words[4] ^ (words[4] << 4) ^ shifted ^ (shifted << 1);
    words[5] += 362437;
    return words[4] + words[5];
  }
};

/// One of the four registers: `kept` masks the bits it has; the feedback of `tap` and the amounts
/// advance it by `step` bits at once.
struct FeedbackRegister {
  uint32_t kept;
  int tap, feedback, step;
};

uint32_t next_linear_feedback(uint32_t* words) {
  static constexpr FeedbackRegister kRegisters[] = {{0xFFFFFFFEU, 6, 13, 18},
                                                    {0xFFFFFFF8U, 2, 27, 2},
                                                    {0xFFFFFFF0U, 13, 21, 7},
                                                    {0xFFFFFF80U, 3, 12, 13}};
  uint32_t result = 0;
  for (const FeedbackRegister& entry : kRegisters) {
    const uint32_t fed_back = ((*words << entry.tap) ^ *words) >> entry.feedback;
    *words = ((*words & entry.kept) << entry.step) ^ fed_back;
    result ^= *words++;
  }
  return result;
}

/// Number `index` (from 1) of the SplitMix64 sequence that starts at `start`.
uint64_t split_mix(uint64_t start, uint64_t index) {
  uint64_t z = start + index * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace

void random_bits(RandomGenerator generator, uint32_t* state, uint32_t* bits, int64_t count) {
  switch (generator) {
    case RandomGenerator::kLinearFeedback:
      for (int64_t i = 0; i < count; ++i) bits[i] = next_linear_feedback(state);
      return;
    case RandomGenerator::kXorwow:
      for (int64_t i = 0; i < count; ++i) bits[i] = Xorwow{state}.next();
      return;
    case RandomGenerator::kFourXorwow:
      for (int64_t i = 0; i < count; ++i) {
        bits[i] = Xorwow{state + i % 4 * Xorwow::kWords}.next();
      }
      return;
  }
}

void seed_random_state(uint32_t seed, int64_t lane, uint32_t* state, int words) {
  constexpr int64_t kVectorNumbers = int64_t{128} * kVectorRandomWords;
  const int64_t first = lane * words + (words == kVectorRandomWords ? 0 : kVectorNumbers);
  for (int i = 0; i < words; ++i) {
    const auto index = static_cast<uint64_t>(first + i + 1);
    state[i] = static_cast<uint32_t>(split_mix(uint64_t{seed} << 32, index) >> 32) | 0x80U;
  }
}

}  // namespace neuron_sim
