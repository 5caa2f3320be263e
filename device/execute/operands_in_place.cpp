#include "device/execute/operands_in_place.h"

#include <algorithm>

namespace neuron_sim {

int32_t OperandsInPlace::index_of(const Operand& operand) {
  const auto equal = [&](const Operand& other) {
    return other.direction == operand.direction && other.dtype == operand.dtype &&
           other.partition_stride == operand.partition_stride && other.rank == operand.rank &&
           other.partitions == operand.partitions &&
           std::equal(operand.free.begin(), operand.free.begin() + operand.rank, other.free.begin(),
                      [](const Dimension& a, const Dimension& b) {
                        return a.size == b.size && a.stride == b.stride;
                      });
  };
  const auto found = std::find_if(operands.rbegin(), operands.rend(), equal);
  if (found != operands.rend()) return static_cast<int32_t>(operands.rend() - found) - 1;
  operands.push_back(operand);
  return static_cast<int32_t>(operands.size()) - 1;
}

void OperandsInPlace::omit(size_t transfer, const std::vector<OperandInPlace>& accesses,
                           size_t instances, std::vector<Location>& locations) {
  if (omitted.empty()) {
    omitted.assign(instances, false);
    replaced.assign(locations.size(), -1);
  }
  omitted[transfer] = true;
  for (const OperandInPlace& access : accesses) {
    replaced[access.replaced] = access.operand;
    locations[access.replaced] = access.location;
  }
}

}  // namespace neuron_sim
