#pragma once
// Host memory of the scratch tensors of runs.

#include <cstddef>
#include <cstdint>

namespace neuron_sim {

/// Bytes for one run, page-aligned, with any contents. A block goes back to the process when the
/// run ends and serves later ones, so that they need no new pages; at most kKept bytes are kept.
/// Thread-safe. KernelError (kOutOfMemory) when the host is out of memory.
class ScratchMemory {
 public:
  static constexpr int64_t kKept = int64_t{256} << 20;

  explicit ScratchMemory(int64_t bytes);
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;

  std::byte* data() const { return data_; }  ///< null for no bytes

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;  // of the block, at least those asked for
};

}  // namespace neuron_sim
