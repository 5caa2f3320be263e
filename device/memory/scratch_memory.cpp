#include "device/memory/scratch_memory.h"

#include <sys/mman.h>

#include <map>
#include <mutex>
#include <new>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

/// Blocks that no run uses, by size.
struct KeptBlocks {
  std::mutex mutex;
  std::multimap<int64_t, std::byte*> blocks;
  int64_t bytes = 0;

  std::byte* take(std::multimap<int64_t, std::byte*>::iterator block) {
    std::byte* const data = block->second;
    bytes -= block->first;
    blocks.erase(block);
    return data;
  }
};

KeptBlocks& kept() {
  static auto* instance = new KeptBlocks;
  return *instance;
}

void unmap(std::byte* data, int64_t bytes) { munmap(data, static_cast<size_t>(bytes)); }

std::byte* map(int64_t bytes) {
  void* const data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    fail(text("the host cannot provide ", bytes, " bytes for scratch tensors."),
         ErrorKind::kOutOfMemory);
  }
  if (bytes >= kHugePage) madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

}  // namespace

ScratchMemory::ScratchMemory(int64_t bytes) {
  if (bytes == 0) return;
  {
    const std::lock_guard lock(kept().mutex);
    const auto block = kept().blocks.lower_bound(bytes);
    if (block != kept().blocks.end()) {
      bytes_ = block->first;
      data_ = kept().take(block);
      return;
    }
    // The largest one is too small for this run, which leaves a larger one.
    if (!kept().blocks.empty()) {
      const auto largest = std::prev(kept().blocks.end());
      const int64_t size = largest->first;
      unmap(kept().take(largest), size);
    }
  }
  data_ = map(bytes);
  bytes_ = bytes;
}

ScratchMemory::~ScratchMemory() {
  if (bytes_ == 0) return;
  {
    const std::lock_guard lock(kept().mutex);
    try {
      if (kept().bytes + bytes_ <= kKept) {
        kept().blocks.emplace(bytes_, data_);
        kept().bytes += bytes_;
        return;
      }
    } catch (const std::bad_alloc&) {
      // A destructor throws nothing: the block is given back.
    }
  }
  unmap(data_, bytes_);
}

}  // namespace neuron_sim
