// The collectives that move a list of tensors, one per rank: allgather, gather, scatter,
// reduce_scatter, all_to_all.

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <numeric>

#include "csrc/distributed/backend.h"
#include "csrc/runtime/semantics.h"

namespace neuron_sim {
namespace {

/// The list of a call that c10d hands over as a list of lists; empty when there is none.
Tensors only_list(const std::vector<Tensors>& lists) {
  return lists.empty() ? Tensors{} : lists[0];
}

void check_count(const Tensors& tensors, int ranks, const std::string& call) {
  TORCH_CHECK_VALUE(static_cast<int>(tensors.size()) == ranks, call, ": a list of ", tensors.size(),
                    " tensors for ", ranks, " ranks.");
}

void check_fits(const at::Tensor& one, const at::Tensor& other, const std::string& call) {
  TORCH_CHECK_TYPE(one.scalar_type() == other.scalar_type(), call, ": tensors are ",
                   shapes_text({one}), " and ", shapes_text({other}), ", expected one dtype.");
  TORCH_CHECK_VALUE(one.numel() == other.numel(), call, ": ", shapes_text({one}), " and ",
                    shapes_text({other}), " have different numbers of elements.");
}

/// One empty tensor per rank: nothing to send or to receive.
Tensors nothing(int ranks) {
  return Tensors(static_cast<size_t>(ranks), at::empty({0}, at::kByte));
}

Tensors copies(const at::Tensor& tensor, int ranks) {
  return Tensors(static_cast<size_t>(ranks), tensor);
}

std::vector<int64_t> element_counts(const Tensors& tensors) {
  std::vector<int64_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(tensor.numel());
  return counts;
}

/// `rows[i]` rows of the host tensor `whole` per rank; equal shares when `rows` is empty.
Tensors rows_of(const at::Tensor& whole, const std::vector<int64_t>& rows) {
  Tensors parts;
  int64_t first = 0;
  for (const int64_t count : rows) {
    parts.push_back(whole.narrow(0, first, count));
    first += count;
  }
  return parts;
}

/// The rows per rank that a call means: equal shares when it names none.
std::vector<int64_t> meant_rows(const at::Tensor& tensor, const std::vector<int64_t>& rows,
                                int ranks) {
  if (!rows.empty() || tensor.dim() == 0) return rows;
  return std::vector<int64_t>(static_cast<size_t>(ranks), tensor.size(0) / ranks);
}

/// c10::ValueError when they are not one number per rank or do not cover the tensor.
void check_rows(const at::Tensor& tensor, const std::vector<int64_t>& rows, int ranks) {
  TORCH_CHECK_VALUE(tensor.dim() > 0, "all_to_all_single: a tensor has no dimension to split.");
  const int64_t sum = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  TORCH_CHECK_VALUE(static_cast<int>(rows.size()) == ranks && sum == tensor.size(0),
                    "all_to_all_single: split sizes ", rows, " do not cover the ", tensor.size(0),
                    " rows of ", shapes_text({tensor}), " for ", ranks, " ranks.");
}

/// Elements for each rank; none when the rows are not one number per rank.
std::vector<int64_t> elements_of(const at::Tensor& tensor, const std::vector<int64_t>& rows,
                                 int ranks) {
  std::vector<int64_t> counts(static_cast<size_t>(ranks));
  if (tensor.dim() == 0 || tensor.size(0) == 0 || rows.size() != counts.size()) return counts;
  const int64_t row = tensor.numel() / tensor.size(0);
  for (size_t rank = 0; rank < counts.size(); ++rank) counts[rank] = rows[rank] * row;
  return counts;
}

}  // namespace

DistributedBackend::Work DistributedBackend::allgather(std::vector<Tensors>& outputs,
                                                       Tensors& inputs,
                                                       const c10d::AllgatherOptions&) {
  const Tensors list = only_list(outputs);
  const std::string text = c10::str("allgather into ", shapes_text(list));
  return run({.type = c10d::OpType::ALLGATHER,
              .operation = GroupOperation::kAllGather,
              .text = text,
              .bytes = {total_bytes(list).count / getSize()},
              .tensors = joined(inputs, list),
              .outputs = list,
              .check =
                  [&] {
                    check_count(list, getSize(), text);
                    const at::Tensor& mine = list[static_cast<size_t>(getRank())];
                    check_fits(only(inputs, "allgather"), mine, text);
                  },
              .move =
                  [&] {
                    exchange(*transport_, copies(host_tensors(inputs)[0], getSize()),
                             host_tensors(list));
                  }});
}

DistributedBackend::Work DistributedBackend::allgather_coalesced(
    std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  // Per rank a list in the order of the inputs, with TorchNeuron per input one in the order of the
  // ranks; one collective each, in that order.
  const bool by_input = vendor_semantics();
  TORCH_CHECK_VALUE(!by_input || outputs.size() == inputs.size(),
                    "allgather_coalesced: ", outputs.size(), " lists of outputs for ",
                    inputs.size(), " inputs.");
  Work last;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensors> list(1);
    if (by_input) {
      list[0] = outputs[i];
    } else {
      for (const Tensors& of_rank : outputs) list[0].push_back(of_rank.at(i));
    }
    Tensors input = {inputs[i]};
    last = allgather(list, input, options);
  }
  TORCH_CHECK_VALUE(last, "allgather_coalesced: there are no tensors.");
  return last;
}

DistributedBackend::Work DistributedBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                                    const c10d::GatherOptions& options) {
  const Tensors list = only_list(outputs);
  const bool root = options.rootRank == getRank();
  const std::string text =
      c10::str("gather of ", shapes_text(inputs), " to rank ", options.rootRank);
  const auto check = [&] {
    check_root(options.rootRank, getSize(), text);
    only(inputs, "gather");
    TORCH_CHECK_VALUE(root || list.empty(), text, ": only that rank gives a list of outputs.");
    if (root) check_count(list, getSize(), text);
    for (const at::Tensor& output : list) check_fits(inputs[0], output, text);
  };
  const auto move = [&] {
    Tensors sent = nothing(getSize());
    sent[static_cast<size_t>(options.rootRank)] = host_tensors(inputs)[0];
    exchange(*transport_, sent, root ? host_tensors(list) : nothing(getSize()));
  };
  return run({.type = c10d::OpType::GATHER,
              .operation = GroupOperation::kGather,
              .text = text,
              .bytes = total_bytes(inputs),
              .tensors = joined(inputs, list),
              .outputs = list,
              .check = check,
              .move = move});
}

DistributedBackend::Work DistributedBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                     const c10d::ScatterOptions& options) {
  const Tensors list = only_list(inputs);
  const bool root = options.rootRank == getRank();
  const std::string text =
      c10::str("scatter of ", shapes_text(outputs), " from rank ", options.rootRank);
  const auto check = [&] {
    check_root(options.rootRank, getSize(), text);
    only(outputs, "scatter");
    TORCH_CHECK_VALUE(root || list.empty(), text, ": only that rank gives a list of inputs.");
    if (root) check_count(list, getSize(), text);
    for (const at::Tensor& input : list) check_fits(input, outputs[0], text);
  };
  const auto move = [&] {
    Tensors received = nothing(getSize());
    received[static_cast<size_t>(options.rootRank)] = host_tensors(outputs)[0];
    exchange(*transport_, root ? host_tensors(list) : nothing(getSize()), received);
  };
  return run({.type = c10d::OpType::SCATTER,
              .operation = GroupOperation::kScatter,
              .text = text,
              .bytes = total_bytes(outputs),
              .tensors = joined(outputs, list),
              .outputs = outputs,
              .check = check,
              .move = move});
}

DistributedBackend::Work DistributedBackend::reduce_scatter(
    Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) {
  Tensors list = only_list(inputs);
  if (list.size() == 1 && getSize() > 1) {  // one tensor for all ranks, which its rows go to
    return reduce_scatter_pairs(outputs, list, options.reduceOp, c10d::OpType::REDUCE_SCATTER);
  }
  const std::string text =
      c10::str("reduce_scatter(", reduction_name(options.reduceOp), ") of ", shapes_text(list));
  const auto check = [&] {
    check_count(list, getSize(), text);
    check_fits(only(outputs, "reduce_scatter"), list[static_cast<size_t>(getRank())], text);
    for (const at::Tensor& input : list) check_reduction(options.reduceOp, input.scalar_type());
  };
  const auto move = [&] {
    const Tensors from = host_tensors(list);
    for (size_t rank = 0; rank < from.size(); ++rank) {
      const at::Tensor sum = reduced(*transport_, from[rank], options.reduceOp);
      if (static_cast<int>(rank) == getRank()) {
        const at::Tensor to = host_tensors(outputs)[0];
        to.copy_(sum.view(to.sizes()));
      }
    }
  };
  return run({.type = c10d::OpType::REDUCE_SCATTER,
              .operation = GroupOperation::kReduceScatter,
              .text = text,
              .bytes = {total_bytes(list).count / getSize()},
              .tensors = joined(outputs, list),
              .outputs = outputs,
              .check = check,
              .move = move});
}

DistributedBackend::Work DistributedBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                           std::vector<int64_t>& output_rows,
                                                           std::vector<int64_t>& input_rows,
                                                           const c10d::AllToAllOptions&) {
  const auto send = meant_rows(input, input_rows, getSize());
  const auto receive = meant_rows(output, output_rows, getSize());
  const auto check = [&] {
    check_rows(input, send, getSize());
    check_rows(output, receive, getSize());
    TORCH_CHECK_TYPE(input.scalar_type() == output.scalar_type(), "all_to_all_single: tensors are ",
                     shapes_text({input}), " and ", shapes_text({output}), ", expected one dtype.");
  };
  const auto move = [&] {
    const Tensors to = host_tensors({output});
    const at::Tensor whole = to[0].contiguous();
    exchange(*transport_, rows_of(host_tensors({input})[0], send), rows_of(whole, receive));
    if (!to[0].is_contiguous()) to[0].copy_(whole);
  };
  return run(
      {.type = c10d::OpType::ALLTOALL_BASE,
       .operation = GroupOperation::kAllToAll,
       .text = c10::str("all_to_all_single of ", c10::getDtypeNames(input.scalar_type()).first),
       .bytes = total_bytes({input}),
       .tensors = {input, output},
       .outputs = {output},
       .check = check,
       .move = move,
       .send = elements_of(input, send, getSize()),
       .receive = elements_of(output, receive, getSize())});
}

DistributedBackend::Work DistributedBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                                      const c10d::AllToAllOptions&) {
  return run({.type = c10d::OpType::ALLTOALL,
              .operation = GroupOperation::kAllToAll,
              .text = "all_to_all",
              .bytes = total_bytes(inputs),
              .tensors = joined(inputs, outputs),
              .outputs = outputs,
              .check =
                  [&] {
                    check_count(inputs, getSize(), "all_to_all");
                    check_count(outputs, getSize(), "all_to_all");
                  },
              .move = [&] { exchange(*transport_, host_tensors(inputs), host_tensors(outputs)); },
              .send = element_counts(inputs),
              .receive = element_counts(outputs)});
}

}  // namespace neuron_sim
