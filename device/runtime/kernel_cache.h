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

 private:
  std::vector<int64_t> numbers_;
};

struct CacheStatistics {
  int64_t hits = 0, misses = 0, kernels = 0;
};

/// Keeps the most recently used kernels. Thread safe; two threads that miss the same key may both
/// build, one result is kept.
class KernelCache {
 public:
  using Build = std::function<std::shared_ptr<const Program>()>;
  explicit KernelCache(size_t capacity) : capacity_(capacity) {}

  /// The kernel of that key; `build` is called on a miss and may throw (nothing is kept then).
  std::shared_ptr<const Kernel> find_or_build(const KernelKey& key, const Build& build);
  CacheStatistics statistics() const;
  void clear();

 private:
  struct Hash {
    size_t operator()(const KernelKey& key) const { return key.hash(); }
  };
  using Order = std::list<KernelKey>;
  struct Entry {
    std::shared_ptr<const Kernel> kernel;
    Order::iterator position;
  };
  std::shared_ptr<const Kernel> find(const KernelKey& key);

  size_t capacity_;
  mutable std::mutex mutex_;
  Order order_;  // most recent first
  std::unordered_map<KernelKey, Entry, Hash> entries_;
  CacheStatistics statistics_;
};

/// The cache of this process (4096 kernels: a training step of a large model has about a thousand).
KernelCache& kernel_cache();

}  // namespace neuron_sim
