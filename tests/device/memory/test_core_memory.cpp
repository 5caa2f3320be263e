#include "device/memory/core_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "device/program/engine_state_tile.h"
#include "device/program/program.h"

namespace neuron_sim {
namespace {

std::vector<uint32_t> random_words(const CoreMemory& memory, EngineState state, int64_t lane,
                                   const Architecture& architecture) {
  const Tile tile = engine_state_tile(state, architecture);
  std::vector<uint32_t> words(static_cast<size_t>(tile.bytes) / sizeof(uint32_t));
  std::memcpy(words.data(), memory.at(tile.memory, lane, tile.address),
              static_cast<size_t>(tile.bytes));
  return words;
}

TEST(CoreMemory, ANewCoreHasTheSameRandomStatesAndNoTwoLanesShareOne) {
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    const Architecture& architecture = load_architecture(name);
    const CoreMemory first(architecture), second(architecture);
    std::set<std::vector<uint32_t>> states;
    for (int64_t lane = 0; lane < 128; ++lane) {
      for (const EngineState state : {EngineState::kVectorRandom, EngineState::kGpSimdRandom}) {
        const auto words = random_words(first, state, lane, architecture);
        EXPECT_EQ(words.size(), state == EngineState::kVectorRandom ? 24U : 6U);
        EXPECT_EQ(words, random_words(second, state, lane, architecture));
        EXPECT_TRUE(states.insert(words).second);
      }
    }
    // The first number of SplitMix64 from 0, with bit 7 set: the state of seed 0.
    EXPECT_EQ(random_words(first, EngineState::kVectorRandom, 0, architecture)[0], 0xE220A8B9U);
  }
}

TEST(CoreMemory, ALargerOneHoldsMoreAndGoesOnWithTheRandomStates) {
  const Architecture& architecture = load_architecture("trn2");
  const int64_t sbuf = architecture.limits.sbuf_partition.count;
  const int64_t psum = architecture.limits.psum_banks * architecture.limits.psum_bank.count;
  CoreMemory chip(architecture), larger(architecture, sbuf + 64, psum + 64);
  EXPECT_TRUE(chip.holds(sbuf, psum));
  EXPECT_FALSE(chip.holds(sbuf + 64, psum));
  EXPECT_FALSE(chip.holds(sbuf, psum + 64));
  EXPECT_TRUE(larger.holds(sbuf + 64, psum + 64));
  const Tile state = engine_state_tile(EngineState::kVectorRandom, architecture);
  *chip.at(state.memory, 5, state.address) ^= std::byte{1};
  const auto changed = random_words(chip, EngineState::kVectorRandom, 5, architecture);
  const auto fresh = random_words(larger, EngineState::kVectorRandom, 5, architecture);
  EXPECT_NE(changed, fresh);
  larger.swap_random_states(chip);
  EXPECT_EQ(random_words(larger, EngineState::kVectorRandom, 5, architecture), changed);
  EXPECT_EQ(random_words(chip, EngineState::kVectorRandom, 5, architecture), fresh);
}

}  // namespace
}  // namespace neuron_sim
