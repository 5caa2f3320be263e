#pragma once
// What the tests of the random number instructions share.

#include <cmath>
#include <string>
#include <vector>

#include "device/numerics/random_bits.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {

/// trn2's instruction limits with another generation's name and random numbers.
inline Architecture random_architecture(int64_t generation) {
  Architecture architecture = test_architecture();
  architecture.name = "trn" + std::to_string(generation - 1);
  architecture.neuron_core = "NeuronCore-v" + std::to_string(generation);
  architecture.generation = generation;
  architecture.features.vector_xorwow = generation >= 4;
  return architecture;
}

/// Sets the state of all lanes as set_rng_seed does.
inline void seed_lanes(InstructionBench& bench, EngineState engine, uint32_t seed) {
  const View state = engine_state(engine, 128);
  const auto words = static_cast<size_t>(state.free_elements());
  std::vector<uint32_t> all(128 * words);
  for (size_t lane = 0; lane < 128; ++lane) {
    seed_random_state(seed, static_cast<int64_t>(lane), all.data() + lane * words,
                      static_cast<int>(words));
  }
  bench.set_bits(state, all);
}

/// The numbers that lanes 0 to partitions - 1 give next, row-major; the state in the bench stays.
inline std::vector<uint32_t> next_numbers(InstructionBench& bench, EngineState engine,
                                          RandomGenerator generator, int64_t partitions,
                                          int64_t count) {
  const View state = engine_state(engine, partitions);
  const auto words = static_cast<size_t>(state.free_elements());
  std::vector<uint32_t> all = bench.bits(state);
  std::vector<uint32_t> result(static_cast<size_t>(partitions * count));
  for (size_t p = 0; p < static_cast<size_t>(partitions); ++p) {
    random_bits(generator, all.data() + p * words, result.data() + p * static_cast<size_t>(count),
                count);
  }
  return result;
}

}  // namespace neuron_sim
