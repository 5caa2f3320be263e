#include "device/memory/write_watch.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace neuron_sim {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::vector<WriteWatch*> watches;  ///< by begin
  int64_t longest = 0;               ///< bytes of any watch there ever was
  std::vector<HostBytes> open;
  std::atomic<size_t> watched = 0;  ///< watches.size(), to be read without the mutex
};

Registry& registry() {
  static auto* instance = new Registry;  // outlives tensors of static storage duration
  return *instance;
}

bool begins_before(const WriteWatch* watch, const std::byte* address) {
  return watch->bytes().begin < address;
}

}  // namespace

WriteWatch::WriteWatch(const HostBytes& bytes) : bytes_(bytes) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.watches.insert(
      std::lower_bound(all.watches.begin(), all.watches.end(), bytes_.begin, begins_before), this);
  all.longest = std::max<int64_t>(all.longest, bytes_.end - bytes_.begin);
  all.watched = all.watches.size();
}

WriteWatch::~WriteWatch() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.watches.erase(std::find(all.watches.begin(), all.watches.end(), this));
  all.watched = all.watches.size();
}

bool WriteWatch::take_written() {
  const bool written = written_.exchange(false);
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  return written || std::any_of(all.open.begin(), all.open.end(),
                                [this](const HostBytes& open) { return open.overlaps(bytes_); });
}

void note_write(const HostBytes& bytes) {
  Registry& all = registry();
  if (all.watched == 0 || bytes.begin == bytes.end) return;
  const std::shared_lock lock(all.mutex);
  const auto begin = all.watches.begin();
  for (auto watch = std::lower_bound(begin, all.watches.end(), bytes.end, begins_before);
       watch != begin && bytes.begin - (*(watch - 1))->bytes_.begin < all.longest; --watch) {
    WriteWatch& before = **(watch - 1);
    if (before.bytes_.overlaps(bytes)) before.written_ = true;
  }
}

OpenForWriting::OpenForWriting(const HostBytes& bytes) : bytes_(bytes) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.open.push_back(bytes_);
}

OpenForWriting::~OpenForWriting() {
  Registry& all = registry();
  {
    const std::lock_guard lock(all.mutex);
    all.open.erase(std::find(all.open.begin(), all.open.end(), bytes_));
  }
  note_write(bytes_);
}

}  // namespace neuron_sim
