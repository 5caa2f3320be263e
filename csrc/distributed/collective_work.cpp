#include "csrc/distributed/collective_work.h"

#include <utility>

#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

/// The current stream of `device` continues at `time` or later.
void wait_in_simulated_time(int device, Picoseconds time) {
  translate_errors([&] { schedule(device).block(current_stream(device), time); });
}

/// A future that holds `outputs` and whose waiters wait for `stream` of `device`.
c10::intrusive_ptr<c10::ivalue::Future> completed_future(int device, int64_t stream,
                                                         const std::vector<at::Tensor>& outputs) {
  const std::vector<at::Device> devices = {
      at::Device(kDeviceType, static_cast<c10::DeviceIndex>(device))};
  auto future = c10::make_intrusive<c10::ivalue::Future>(
      c10::ListType::create(c10::TensorType::get()), devices);
  // A future records its event on the current stream.
  const int64_t previous = exchange_stream(device, stream);
  future->markCompleted(c10::IValue(outputs));
  exchange_stream(device, previous);
  return future;
}

bool ready(const std::shared_future<MessageEnd>& end) {
  return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

CollectiveWork::CollectiveWork(int rank, c10d::OpType type, int device, int64_t stream,
                               Picoseconds end, std::vector<at::Tensor> outputs)
    : c10d::Work(rank, type),
      device_(device),
      end_(end),
      outputs_(std::move(outputs)),
      future_(completed_future(device, stream, outputs_)) {
  completed_ = true;
}

bool CollectiveWork::wait(std::chrono::milliseconds) {
  synchronize();
  return true;
}

void CollectiveWork::synchronize() {
  // As for other devices, only a barrier lets the program itself wait.
  wait_in_simulated_time(device_, end_);
  if (opType_ == c10d::OpType::BARRIER) {
    translate_errors([&] { schedule(device_).host().wait_until(end_); });
  }
}

MessageWork::MessageWork(int rank, c10d::OpType type, int device, std::vector<at::Tensor> tensors,
                         std::function<MessageEnd()> transfer)
    : c10d::Work(rank, type),
      device_(device),
      tensors_(std::move(tensors)),
      end_(std::async(std::launch::async, std::move(transfer)).share()) {}

bool MessageWork::isCompleted() { return ready(end_); }

bool MessageWork::isSuccess() const {
  if (!ready(end_)) return false;
  try {
    end_.get();
    return true;
  } catch (...) {
    return false;
  }
}

bool MessageWork::wait(std::chrono::milliseconds) {
  wait_in_simulated_time(device_, end_.get().end);
  return true;
}

int MessageWork::sourceRank() const { return end_.get().source; }

}  // namespace neuron_sim
