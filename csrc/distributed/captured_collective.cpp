#include "csrc/distributed/captured_collective.h"

#include <optional>

#include "csrc/launch/capture.h"
#include "csrc/launch/kernel_call.h"
#include "ops/copies/group_collective.h"

namespace neuron_sim {
namespace {

std::optional<CollectiveKind> kind_of(GroupOperation operation) {
  switch (operation) {
    case GroupOperation::kAllReduce: return CollectiveKind::kAllReduce;
    case GroupOperation::kAllGather: return CollectiveKind::kAllGather;
    case GroupOperation::kReduceScatter: return CollectiveKind::kReduceScatter;
    default: return std::nullopt;
  }
}

}  // namespace

void capture_collective(GroupOperation operation, at::ArrayRef<at::Tensor> inputs,
                        at::ArrayRef<at::Tensor> outputs, int ranks) {
  GraphCapture& capture = *GraphCapture::active();
  const auto kind = kind_of(operation);
  if (!kind) capture.refuse("it has a collective that no program can hold");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!inputs[i].is_contiguous() || !outputs[i].is_contiguous()) {
      capture.refuse("a collective has a strided tensor");
    }
    KernelCall call(kGroupCollective.name, outputs[i].device());
    call.operand(inputs[i]).result(outputs[i]);
    call.launch(kGroupCollective, {*kind, ranks});
  }
}

}  // namespace neuron_sim
