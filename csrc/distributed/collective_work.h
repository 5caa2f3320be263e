#pragma once
// The work that a collective returns: the bytes are there at once, simulated time is outstanding.

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <future>
#include <vector>

#include "device/base/units.h"

namespace neuron_sim {

/// A collective that has run. wait() lets the current stream wait, in simulated time, for its end.
class CollectiveWork final : public c10d::Work {
 public:
  /// `outputs` are what result() and the future give; they are complete on `stream` of `device`.
  CollectiveWork(int rank, c10d::OpType type, int device, int64_t stream, Picoseconds end,
                 std::vector<at::Tensor> outputs);

  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  void blockCurrentStream() override { synchronize(); }
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  int device_;
  Picoseconds end_;
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// How a message ended: both ranks know it when the receiver has it.
struct MessageEnd {
  Picoseconds end{};
  int source = -1;
};

/// A send or receive, which runs on its own thread: the other side may come later. wait()
/// raises what went wrong and else lets the current stream wait for the message's end.
class MessageWork final : public c10d::Work {
 public:
  MessageWork(int rank, c10d::OpType type, int device, std::vector<at::Tensor> tensors,
              std::function<MessageEnd()> transfer);

  bool isCompleted() override;
  bool isSuccess() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override { wait(kNoTimeout); }
  void blockCurrentStream() override { synchronize(); }
  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return tensors_; }

 private:
  int device_;
  std::vector<at::Tensor> tensors_;
  std::shared_future<MessageEnd> end_;
};

}  // namespace neuron_sim
