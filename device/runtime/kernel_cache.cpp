#include "device/runtime/kernel_cache.h"

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr int64_t kProcessLimit = int64_t{1} << 30;
// What an entry takes beside its kernel and key: nodes of the map and the list, control blocks.
constexpr int64_t kEntryBytes = 256;

}  // namespace

KernelKey::KernelKey(std::string_view kernel, const Architecture& architecture) {
  numbers_.reserve(48);
  add(reinterpret_cast<int64_t>(&architecture));
  add(kernel);
}

KernelKey& KernelKey::add(std::string_view text) {
  add(static_cast<int64_t>(text.size()));
  int64_t packed = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    packed = static_cast<int64_t>(static_cast<uint64_t>(packed) << 8 |
                                  static_cast<unsigned char>(text[i]));
    if (i % 8 == 7 || i + 1 == text.size()) {
      add(packed);
      packed = 0;
    }
  }
  return *this;
}

KernelKey& KernelKey::add(const std::vector<int64_t>& numbers) {
  add(static_cast<int64_t>(numbers.size()));
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return *this;
}

/// In four chains, whose multiplications the processor overlaps.
size_t KernelKey::hash() const {
  constexpr size_t kChains = 4;
  constexpr uint64_t kFactor = 0xFF51AFD7ED558CCDULL;
  const auto mixed = [](uint64_t chain, int64_t number) {
    chain = (chain ^ static_cast<uint64_t>(number)) * kFactor;
    return chain ^ (chain >> 32);
  };
  uint64_t chains[kChains] = {0x9E3779B97F4A7C15ULL, 0xBF58476D1CE4E5B9ULL, 0x94D049BB133111EBULL,
                              0xD6E8FEB86659FD93ULL};
  size_t i = 0;
  for (; i + kChains <= numbers_.size(); i += kChains) {
    for (size_t chain = 0; chain < kChains; ++chain) {
      chains[chain] = mixed(chains[chain], numbers_[i + chain]);
    }
  }
  for (; i < numbers_.size(); ++i) chains[0] = mixed(chains[0], numbers_[i]);
  for (size_t chain = 1; chain < kChains; ++chain) {
    chains[0] = mixed(chains[0], static_cast<int64_t>(chains[chain]));
  }
  return static_cast<size_t>(chains[0]);
}

std::shared_ptr<const Kernel> KernelCache::find(const KernelKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  ++statistics_.hits;
  order_.splice(order_.begin(), order_, found->second.position);
  return found->second.kernel;
}

std::shared_ptr<const Kernel> KernelCache::find_or_build(const KernelKey& key, const Build& build) {
  return find_or_compile(key, [&] { return std::make_shared<const Kernel>(build()); });
}

std::shared_ptr<const Kernel> KernelCache::find_or_compile(const KernelKey& key,
                                                           const Compile& compile) {
  if (auto kernel = find(key)) return kernel;
  auto kernel = compile();
  const std::lock_guard lock(mutex_);
  ++statistics_.misses;
  const auto [entry, added] = entries_.try_emplace(key);
  if (!added) return entry->second.kernel;
  order_.push_front(&entry->first);
  entry->second = {kernel, order_.begin(), kernel->bytes() + entry->first.bytes() + kEntryBytes};
  statistics_.bytes += entry->second.bytes;
  evict();
  return kernel;
}

void KernelCache::evict() {
  while (statistics_.bytes > limit_ && !order_.empty()) {
    const auto oldest = entries_.find(*order_.back());
    statistics_.bytes -= oldest->second.bytes;
    ++statistics_.evictions;
    order_.pop_back();
    entries_.erase(oldest);
  }
}

CacheStatistics KernelCache::statistics() const {
  const std::lock_guard lock(mutex_);
  CacheStatistics result = statistics_;
  result.kernels = static_cast<int64_t>(entries_.size());
  return result;
}

int64_t KernelCache::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

void KernelCache::set_limit(int64_t bytes) {
  if (bytes < 0)
    fail(text("the limit of the kernel cache is ", bytes, " bytes and must be 0 or more."));
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
  evict();
}

void KernelCache::clear() {
  const std::lock_guard lock(mutex_);
  order_.clear();
  entries_.clear();
  statistics_.bytes = 0;
}

KernelCache& kernel_cache() {
  static auto* cache = new KernelCache(kProcessLimit);
  return *cache;
}

}  // namespace neuron_sim
