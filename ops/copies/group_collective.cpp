#include "ops/copies/group_collective.h"

#include <memory>
#include <numeric>

namespace neuron_sim {
namespace {

View flat(const HbmTensor& tensor) { return tensor.view({tensor.elements()}, {1}); }

}  // namespace

void emit_group_collective(Builder& builder, HbmTensors operands, HbmTensors results,
                           const GroupCollectiveOptions& options) {
  std::vector<int64_t> ranks(static_cast<size_t>(options.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  builder.emit(Collective{
      .kind = options.kind,
      .dst = flat(results[0]),
      .src = flat(operands[0]),
      .groups = std::make_shared<const ReplicaGroups>(ReplicaGroups{{std::move(ranks)}}),
  });
}

}  // namespace neuron_sim
