// The collectives whose ranks all have buffers of one size: broadcast, reductions, gathers into
// one tensor, barrier.

#include <c10/util/Exception.h>

#include "csrc/distributed/backend.h"
#include "csrc/runtime/runtime.h"

namespace neuron_sim {
namespace {

/// `whole` holds `ranks` times the elements of `part`, of its dtype.
void check_multiple(const at::Tensor& whole, const at::Tensor& part, int ranks,
                    const std::string& call) {
  TORCH_CHECK_TYPE(whole.scalar_type() == part.scalar_type(), call, ": tensors are ",
                   shapes_text({whole}), " and ", shapes_text({part}), ", expected one dtype.");
  TORCH_CHECK_VALUE(whole.numel() == part.numel() * ranks, call, ": ", shapes_text({whole}),
                    " has not ", ranks, " times the elements of ", shapes_text({part}), ".");
}

/// The parts of the host tensor `whole`, one per rank, as flat views.
Tensors parts_of(const at::Tensor& whole, int ranks) {
  const int64_t count = whole.numel() / ranks;
  Tensors parts;
  for (int rank = 0; rank < ranks; ++rank) parts.push_back(whole.narrow(0, rank * count, count));
  return parts;
}

}  // namespace

DistributedBackend::Work DistributedBackend::broadcast(Tensors& tensors,
                                                       const c10d::BroadcastOptions& options) {
  const std::string text =
      c10::str("broadcast of ", shapes_text(tensors), " from rank ", options.rootRank);
  return run({.type = c10d::OpType::BROADCAST,
              .operation = GroupOperation::kBroadcast,
              .text = text,
              .bytes = total_bytes(tensors),
              .tensors = tensors,
              .outputs = tensors,
              .check =
                  [&] {
                    only(tensors, "broadcast");
                    check_root(options.rootRank, getSize(), text);
                  },
              .move =
                  [&] {
                    neuron_sim::broadcast(*transport_, host_tensors(tensors)[0], options.rootRank);
                  }});
}

DistributedBackend::Work DistributedBackend::reduce_into(const Tensors& outputs,
                                                         const Tensors& inputs,
                                                         const c10d::ReduceOp& operation,
                                                         c10d::OpType type) {
  const char* name = type == c10d::OpType::ALLREDUCE ? "allreduce" : "allreduce_coalesced";
  return run({.type = type,
              .operation = GroupOperation::kAllReduce,
              .text = c10::str(name, "(", reduction_name(operation), ") of ", shapes_text(inputs)),
              .bytes = total_bytes(inputs),
              .tensors = joined(inputs, outputs),
              .outputs = outputs,
              .check =
                  [&] {
                    if (type == c10d::OpType::ALLREDUCE) only(inputs, name);
                    for (const at::Tensor& input : inputs) {
                      check_reduction(operation, input.scalar_type());
                    }
                  },
              .move =
                  [&] {
                    const Tensors from = host_tensors(inputs), to = host_tensors(outputs);
                    for (size_t i = 0; i < from.size(); ++i) {
                      to[i].copy_(reduced(*transport_, from[i], operation));
                    }
                  }});
}

DistributedBackend::Work DistributedBackend::allreduce(Tensors& tensors,
                                                       const c10d::AllreduceOptions& options) {
  return reduce_into(tensors, tensors, options.reduceOp, c10d::OpType::ALLREDUCE);
}

DistributedBackend::Work DistributedBackend::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  return reduce_into(tensors, tensors, options.reduceOp, c10d::OpType::ALLREDUCE_COALESCED);
}

DistributedBackend::Work DistributedBackend::reduce(Tensors& tensors,
                                                    const c10d::ReduceOptions& options) {
  const std::string text = c10::str("reduce(", reduction_name(options.reduceOp), ") of ",
                                    shapes_text(tensors), " to rank ", options.rootRank);
  return run({.type = c10d::OpType::REDUCE,
              .operation = GroupOperation::kReduce,
              .text = text,
              .bytes = total_bytes(tensors),
              .tensors = tensors,
              .outputs = tensors,
              .check =
                  [&] {
                    check_reduction(options.reduceOp, only(tensors, "reduce").scalar_type());
                    check_root(options.rootRank, getSize(), text);
                  },
              .move =
                  [&] {
                    const at::Tensor host = host_tensors(tensors)[0];
                    const at::Tensor sum = reduced(*transport_, host, options.reduceOp);
                    if (options.rootRank == getRank()) host.copy_(sum);
                  }});
}

DistributedBackend::Work DistributedBackend::gather_pairs(const Tensors& outputs,
                                                          const Tensors& inputs,
                                                          c10d::OpType type) {
  const std::string text = c10::str("allgather_into_tensor of ", shapes_text(inputs));
  const auto check = [&] {
    TORCH_CHECK_VALUE(outputs.size() == inputs.size(), text, ": ", outputs.size(), " outputs for ",
                      inputs.size(), " inputs.");
    for (size_t i = 0; i < inputs.size(); ++i) {
      check_multiple(outputs[i], inputs[i], getSize(), text);
    }
  };
  const auto move = [&] {
    const Tensors from = host_tensors(inputs), to = host_tensors(outputs);
    for (size_t i = 0; i < from.size(); ++i) {
      const at::Tensor whole = to[i].contiguous().view(-1);
      const Tensors copies(static_cast<size_t>(getSize()), from[i]);
      exchange(*transport_, copies, parts_of(whole, getSize()));
      if (!to[i].is_contiguous()) to[i].copy_(whole.view_as(to[i]));
    }
  };
  return run({.type = type,
              .operation = GroupOperation::kAllGather,
              .text = text,
              .bytes = total_bytes(inputs),
              .tensors = joined(inputs, outputs),
              .outputs = outputs,
              .check = check,
              .move = move});
}

DistributedBackend::Work DistributedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                             const c10d::AllgatherOptions&) {
  return gather_pairs({output}, {input}, c10d::OpType::_ALLGATHER_BASE);
}

DistributedBackend::Work DistributedBackend::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions&) {
  return gather_pairs(outputs, inputs, c10d::OpType::ALLGATHER_COALESCED);
}

DistributedBackend::Work DistributedBackend::reduce_scatter_pairs(const Tensors& outputs,
                                                                  const Tensors& inputs,
                                                                  const c10d::ReduceOp& operation,
                                                                  c10d::OpType type) {
  const std::string text =
      c10::str("reduce_scatter_tensor(", reduction_name(operation), ") of ", shapes_text(inputs));
  const auto check = [&] {
    TORCH_CHECK_VALUE(outputs.size() == inputs.size(), text, ": ", outputs.size(), " outputs for ",
                      inputs.size(), " inputs.");
    for (size_t i = 0; i < inputs.size(); ++i) {
      check_reduction(operation, inputs[i].scalar_type());
      check_multiple(inputs[i], outputs[i], getSize(), text);
    }
  };
  const auto move = [&] {
    const Tensors from = host_tensors(inputs), to = host_tensors(outputs);
    for (size_t i = 0; i < from.size(); ++i) {
      const at::Tensor sum = reduced(*transport_, from[i], operation).view(-1);
      const int64_t count = to[i].numel();
      to[i].copy_(sum.narrow(0, getRank() * count, count).view(to[i].sizes()));
    }
  };
  return run({.type = type,
              .operation = GroupOperation::kReduceScatter,
              .text = text,
              .bytes = total_bytes(outputs),
              .tensors = joined(inputs, outputs),
              .outputs = outputs,
              .check = check,
              .move = move});
}

DistributedBackend::Work DistributedBackend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  return reduce_scatter_pairs({output}, {input}, options.reduceOp,
                              c10d::OpType::_REDUCE_SCATTER_BASE);
}

DistributedBackend::Work DistributedBackend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  return reduce_scatter_pairs(outputs, inputs, options.reduceOp,
                              c10d::OpType::REDUCE_SCATTER_TENSOR_COALESCED);
}

DistributedBackend::Work DistributedBackend::barrier(const c10d::BarrierOptions& options) {
  int device = current_device();
  if (options.device && options.device->type() == kDeviceType && options.device->has_index()) {
    device = options.device->index();
  }
  if (!options.device_ids.empty()) device = static_cast<int>(options.device_ids[0]);
  return run({.type = c10d::OpType::BARRIER,
              .operation = GroupOperation::kBarrier,
              .text = "barrier",
              .move = [] {},
              .device = device});
}

}  // namespace neuron_sim
