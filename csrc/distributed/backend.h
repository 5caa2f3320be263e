#pragma once
// The torch.distributed backend "neuron_sim": one process per NeuronCore. Another backend (gloo)
// moves the bytes between the processes; this one says what may be moved, and when it has arrived
// in simulated time.

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "csrc/distributed/announcement.h"
#include "csrc/distributed/transport.h"
#include "csrc/runtime/device_name.h"
#include "csrc/runtime/export.h"
#include "device/runtime/group_time.h"

namespace neuron_sim {

/// All tensors of a call lie on one neuron_sim device. The ranks' clocks meet at a collective: it
/// starts when the last rank is ready, takes group_time and ends at the same time on all ranks. It
/// waits for the current stream and for the device's earlier collectives, of any group, and
/// overlaps kernels until its Work is waited for. Calls that do not fit each other raise on every
/// rank and change nothing. While timing_only() no bytes are moved, and a captured graph has its
/// collectives in its program.
class NEURON_SIM_TORCH_API DistributedBackend final : public c10d::Backend {
 public:
  /// `transport` moves bytes of host tensors between the same ranks. torch's "fake" one has no
  /// peers: all ranks are taken to be where this one is, and only time can be had.
  explicit DistributedBackend(c10::intrusive_ptr<c10d::Backend> transport);

  const std::string getBackendName() const override { return device_name(); }

  using Work = c10::intrusive_ptr<c10d::Work>;
  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  Work allreduce_coalesced(Tensors& tensors,
                           const c10d::AllreduceCoalescedOptions& options) override;
  Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  Work allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::AllgatherOptions& options) override;
  Work _allgather_base(at::Tensor& output, at::Tensor& input,
                       const c10d::AllgatherOptions& options) override;
  Work allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                           const c10d::AllgatherOptions& options) override;
  Work allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                       const c10d::AllgatherOptions& options) override;
  Work gather(std::vector<Tensors>& outputs, Tensors& inputs,
              const c10d::GatherOptions& options) override;
  Work scatter(Tensors& outputs, std::vector<Tensors>& inputs,
               const c10d::ScatterOptions& options) override;
  Work reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                      const c10d::ReduceScatterOptions& options) override;
  Work _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) override;
  Work reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                       const c10d::ReduceScatterOptions& options) override;
  Work alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_rows,
                     std::vector<int64_t>& input_rows,
                     const c10d::AllToAllOptions& options) override;
  Work alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  Work barrier(const c10d::BarrierOptions& options) override;
  Work send(Tensors& tensors, int destination, int tag) override;
  Work recv(Tensors& tensors, int source, int tag) override;
  Work recvAnysource(Tensors& tensors, int tag) override;

  /// An all-reduce (of `type` ALLREDUCE or ALLREDUCE_COALESCED) of the inputs of all ranks into
  /// `outputs`, one for each input, of its shape and dtype; they may be the inputs.
  Work reduce_into(const Tensors& outputs, const Tensors& inputs, const c10d::ReduceOp& operation,
                   c10d::OpType type);

  /// The transport has its own numbers.
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_; }
  void abort() override { transport_->abort(); }
  void shutdown() override { transport_->shutdown(); }

 private:
  /// One collective: what all ranks must agree on, what it costs, how it moves.
  struct Call {
    c10d::OpType type{};
    GroupOperation operation{};
    std::string text{};  ///< "allreduce(SUM) of float32 [3, 4]"
    Bytes bytes{};       ///< as group_time counts them
    Tensors tensors{};   ///< all that take part, on the device
    Tensors outputs{};
    std::function<void()> check{};  ///< throws when this rank's arguments do not fit; may be empty
    std::function<void()> move{};   ///< on host memory
    std::vector<int64_t> send{}, receive{};
    int device = -1;  ///< of a call without tensors
  };
  Work run(const Call& call);
  /// c10::Error for a process without peers unless only time is wanted.
  void check_peers(const Call& call) const;
  /// The call as a part of the program that is being captured.
  Work captured(const Call& call, int device);
  /// The device of the call's tensors, checked.
  int device_of(const Call& call) const;
  /// The call's device after its checks. An error is told to the other ranks before it is raised,
  /// so that they raise too instead of waiting.
  int checked(const Call& call);
  /// When a collective called now could start as far as this rank is concerned.
  Picoseconds ready(int device);

  Work gather_pairs(const Tensors& outputs, const Tensors& inputs, c10d::OpType type);
  Work reduce_scatter_pairs(const Tensors& outputs, const Tensors& inputs,
                            const c10d::ReduceOp& operation, c10d::OpType type);
  Call message(const char* verb, Tensors& tensors, int tag) const;
  Work receive(Tensors& tensors, int source, int tag);

  c10::intrusive_ptr<c10d::Backend> transport_;
  std::mutex mutex_;
  std::map<int, int> sent_;  ///< messages so far, by destination
  uint64_t sequence_ = 0;    ///< collectives so far
};

/// "float32 [3, 4]", several joined by commas.
std::string shapes_text(const Tensors& tensors);
/// The sum of their bytes.
Bytes total_bytes(const Tensors& tensors);
/// The host memory that backs each of them.
Tensors host_tensors(const Tensors& tensors);
/// The one tensor of a call that c10d hands over as a list; c10::ValueError.
const at::Tensor& only(const Tensors& tensors, const char* call);
/// c10::ValueError when a group of `ranks` has no such rank.
void check_root(int64_t root, int ranks, const std::string& call);
/// Both lists, one after the other.
Tensors joined(const Tensors& first, const Tensors& second);

}  // namespace neuron_sim
