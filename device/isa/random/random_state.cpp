#include "device/isa/random/random_state.h"

#include <array>
#include <cstring>
#include <vector>

#include "device/operand/engine_state.h"

namespace neuron_sim {

View random_state(EngineKind engine, int64_t partitions) {
  return engine_state(engine == EngineKind::kGpSimd ? EngineState::kGpSimdRandom
                                                    : EngineState::kVectorRandom,
                      partitions);
}

RandomGenerator random_generator(EngineKind engine, const Architecture& architecture) {
  if (engine == EngineKind::kGpSimd) return RandomGenerator::kXorwow;
  return architecture.features.vector_xorwow ? RandomGenerator::kFourXorwow
                                             : RandomGenerator::kLinearFeedback;
}

const uint32_t* next_random_row(const Instance& instance, const Access& state, int64_t partition,
                                int64_t count) {
  thread_local std::vector<uint32_t> row;
  if (row.size() < static_cast<size_t>(count)) row.resize(static_cast<size_t>(count));
  std::array<uint32_t, kVectorRandomWords> words{};
  const size_t bytes = static_cast<size_t>(state.elements()) * sizeof(uint32_t);
  std::memcpy(words.data(), state.partition(partition), bytes);
  random_bits(random_generator(instance.engine, *instance.architecture), words.data(), row.data(),
              count);
  std::memcpy(state.partition(partition), words.data(), bytes);
  return row.data();
}

}  // namespace neuron_sim
