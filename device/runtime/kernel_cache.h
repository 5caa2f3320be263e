#pragma once
// Compiled kernels by everything that decides their program, like compiled NEFFs.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/arch/architecture.h"
#include "device/runtime/kernel.h"

namespace neuron_sim {

/// A sequence of numbers; two keys are the same only if all of them are. Architectures are
/// interned by content, so their address stands for all of their values.
class KernelKey {
 public:
  KernelKey(std::string_view kernel, const Architecture& architecture);
  KernelKey& add(int64_t number) {
    numbers_.push_back(number);
    return *this;
  }
  KernelKey& add(std::string_view text);
  KernelKey& add(const std::vector<int64_t>& numbers);
  bool operator==(const KernelKey&) const = default;
  size_t hash() const;
  /// Host memory that its numbers take.
  int64_t bytes() const { return static_cast<int64_t>(numbers_.capacity() * sizeof(int64_t)); }

 private:
  std::vector<int64_t> numbers_;
};

struct CacheStatistics {
  int64_t hits = 0, misses = 0, evictions = 0;  ///< so far
  int64_t kernels = 0;                          ///< that are kept
  int64_t bytes = 0;                            ///< of host memory that those take, about
};

/// Keeps the most recently used kernels, as many as their bytes allow. Thread safe; two threads
/// that miss the same key may both build, one result is kept.
class KernelCache {
 public:
  using Build = std::function<std::shared_ptr<const Program>()>;
  using Compile = std::function<std::shared_ptr<const Kernel>()>;
  /// `limit`: bytes of host memory.
  explicit KernelCache(int64_t limit) : limit_(limit) {}

  /// The kernel of that key; `build` is called on a miss and may throw (nothing is kept then).
  std::shared_ptr<const Kernel> find_or_build(const KernelKey& key, const Build& build);
  /// The kernel of that key; `compile` is called on a miss and may throw (nothing is kept then).
  std::shared_ptr<const Kernel> find_or_compile(const KernelKey& key, const Compile& compile);
  CacheStatistics statistics() const;
  int64_t limit() const;
  /// Forgets kernels that are too many by the new limit.
  void set_limit(int64_t bytes);
  void clear();

 private:
  struct Hash {
    size_t operator()(const KernelKey& key) const { return key.hash(); }
  };
  using Order = std::list<const KernelKey*>;
  struct Entry {
    std::shared_ptr<const Kernel> kernel;
    Order::iterator position;
    int64_t bytes;
  };
  std::shared_ptr<const Kernel> find(const KernelKey& key);
  /// Forgets the kernels that were not used for longest until the limit is kept.
  void evict();

  mutable std::mutex mutex_;
  int64_t limit_;
  Order order_;  // most recent first, keys of entries_
  std::unordered_map<KernelKey, Entry, Hash> entries_;
  CacheStatistics statistics_;
};

/// The cache of this process. Its limit is 1 GiB at first: a training step of a large model has
/// about a thousand kernels, most of them of some KiB, a few of some MiB.
KernelCache& kernel_cache();

}  // namespace neuron_sim
