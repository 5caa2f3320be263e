#pragma once
// Memory that a thread keeps for its products.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace neuron_sim {

/// Floats of a cache line.
inline constexpr int64_t kLineFloats = 16;

/// Memory of the calling thread, aligned to cache lines; grown, never shrunk.
class LineBuffer {
 public:
  float* floats(int64_t count) {
    const size_t needed = static_cast<size_t>(count + kLineFloats);
    if (storage_.size() < needed) storage_.resize(needed);
    void* data = storage_.data();
    size_t room = storage_.size() * sizeof(float);
    return static_cast<float*>(std::align(kLineFloats * sizeof(float), sizeof(float), data, room));
  }

 private:
  std::vector<float> storage_;
};

}  // namespace neuron_sim
