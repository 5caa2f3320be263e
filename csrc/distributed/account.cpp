#include "csrc/distributed/account.h"

#include <map>
#include <mutex>
#include <utility>

namespace neuron_sim {
namespace {

/// Never destroyed: threads may communicate until the process ends.
struct Recordings {
  std::mutex mutex;
  int64_t next = 1;
  std::map<int64_t, std::vector<CollectiveRecord>> active;
};

Recordings& recordings() {
  static auto* instance = new Recordings;
  return *instance;
}

}  // namespace

int64_t start_collective_recording() {
  const std::lock_guard lock(recordings().mutex);
  const int64_t recording = recordings().next++;
  recordings().active.try_emplace(recording);
  return recording;
}

std::vector<CollectiveRecord> finish_collective_recording(int64_t recording) {
  const std::lock_guard lock(recordings().mutex);
  auto found = recordings().active.extract(recording);
  return found.empty() ? std::vector<CollectiveRecord>{} : std::move(found.mapped());
}

void record_collective(const CollectiveRecord& record) {
  const std::lock_guard lock(recordings().mutex);
  for (auto& [recording, collectives] : recordings().active) collectives.push_back(record);
}

}  // namespace neuron_sim
