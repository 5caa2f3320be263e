#include "device/runtime/group_time.h"

#include <numeric>

#include "device/base/errors.h"
#include "device/timeline/exchange_time.h"

namespace neuron_sim {
namespace {

/// What an operation on `bytes` (see GroupOperation) moves between `ranks` ranks.
Exchange exchange_of(const CollectiveTiming& timing, GroupOperation operation, Bytes bytes,
                     int64_t ranks) {
  const Bytes all{bytes.count * ranks};
  const bool direct = bytes < timing.mesh;
  switch (operation) {
    case GroupOperation::kBarrier: return {};
    // A large buffer is scattered from its root, then gathered by all.
    case GroupOperation::kBroadcast:
      return direct ? Exchange{ExchangePattern::kRoot, all}
                    : Exchange{.buffer = bytes, .copying = 2};
    case GroupOperation::kReduce:
      return direct ? Exchange{ExchangePattern::kRoot, all, /*copying=*/0, /*reducing=*/1}
                    : reduce_and_gather(bytes);
    case GroupOperation::kAllReduce: return reduce_and_gather(bytes);
    case GroupOperation::kAllGather: return {.buffer = all};
    case GroupOperation::kReduceScatter: return {.buffer = all, .copying = 0, .reducing = 1};
    case GroupOperation::kGather:
    case GroupOperation::kScatter:
    case GroupOperation::kSend: return {ExchangePattern::kRoot, all};
    case GroupOperation::kAllToAll: return {ExchangePattern::kPairs, bytes};
  }
  return {};
}

}  // namespace

GroupTime group_time(const Architecture& architecture, GroupOperation operation, Bytes bytes,
                     int ranks) {
  if (bytes.count < 0 || ranks < 1) {
    fail(text("a collective of ", bytes.count, " bytes between ", ranks,
              " ranks does not exist: expected 0 bytes and 1 rank at least"));
  }
  if (ranks == 1) return {{}, "none"};
  std::vector<int64_t> group(static_cast<size_t>(ranks));
  std::iota(group.begin(), group.end(), 0);
  const Exchange exchange = exchange_of(architecture.collective, operation, bytes, ranks);
  const ExchangeTime time = exchange_time(architecture, exchange, ReplicaGroups{{std::move(group)}},
                                          architecture.limits.cores);
  return {time.latency + time.transfer, time.algorithm};
}

}  // namespace neuron_sim
