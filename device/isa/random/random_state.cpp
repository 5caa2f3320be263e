#include "device/isa/random/random_state.h"

#include <array>
#include <cstring>
#include <vector>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
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

namespace checks {

void random_state_tile(std::string_view instruction, std::string_view operand, const View& view,
                       EngineKind engine, const Architecture& architecture) {
  generation(instruction, 3, architecture);
  if (architecture.features.vector_xorwow) {
    checks::engine(instruction, engine, {EngineKind::kVector, EngineKind::kGpSimd}, architecture);
  } else {
    checks::engine(instruction, engine, {EngineKind::kGpSimd}, architecture);
  }
  compute_operand(instruction, operand, view, engine, architecture);
  if (view.dtype() != Dtype::kUint32) dtype_error(instruction, operand, view, "uint32");
  const int64_t words = engine == EngineKind::kGpSimd ? kGpSimdRandomWords : kVectorRandomWords;
  if (view.free_elements() == words) return;
  fail(text("operand '", operand, "' of '", instruction, "' has ", view.free_elements(),
            " elements per partition; the random state of a lane of the ", name(engine),
            " engine has ", words, "."));
}

}  // namespace checks
}  // namespace neuron_sim
