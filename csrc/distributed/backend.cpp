#include "csrc/distributed/backend.h"

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <utility>

#include "csrc/distributed/account.h"
#include "csrc/distributed/captured_collective.h"
#include "csrc/distributed/collective_work.h"
#include "csrc/launch/capture.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/device_name.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

/// Processors beside the engines run the collectives of a device, one after the other, whatever
/// their groups: a separate stream.
int64_t collective_stream(int device) {
  static std::mutex mutex;
  static auto* const streams = new std::map<int, int64_t>;
  const std::lock_guard lock(mutex);
  const auto found = streams->find(device);
  if (found != streams->end()) return found->second;
  return streams->emplace(device, schedule(device).create_stream()).first->second;
}

}  // namespace

std::string shapes_text(const Tensors& tensors) {
  std::string text;
  for (const at::Tensor& tensor : tensors) {
    text += text.empty() ? "" : ", ";
    text += c10::str(c10::getDtypeNames(tensor.scalar_type()).first, " ", tensor.sizes());
  }
  return text;
}

Bytes total_bytes(const Tensors& tensors) {
  Bytes total{};
  for (const at::Tensor& tensor : tensors) total.count += tensor_bytes(tensor).count;
  return total;
}

Tensors host_tensors(const Tensors& tensors) {
  Tensors host;
  for (const at::Tensor& tensor : tensors) host.push_back(host_tensor(tensor));
  return host;
}

const at::Tensor& only(const Tensors& tensors, const char* call) {
  TORCH_CHECK_VALUE(tensors.size() == 1, call, ": got ", tensors.size(),
                    " tensors, expected 1 per process.");
  return tensors[0];
}

void check_root(int64_t root, int ranks, const std::string& call) {
  TORCH_CHECK_VALUE(root >= 0 && root < ranks, call, ": there is no rank ", root, " in a group of ",
                    ranks, ".");
}

Tensors joined(const Tensors& first, const Tensors& second) {
  Tensors all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

DistributedBackend::DistributedBackend(c10::intrusive_ptr<c10d::Backend> transport)
    : c10d::Backend(transport->getRank(), transport->getSize()), transport_(std::move(transport)) {}

int DistributedBackend::device_of(const Call& call) const {
  if (call.tensors.empty()) return checked_device(call.device);
  const at::Device device = call.tensors[0].device();
  for (const at::Tensor& tensor : call.tensors) {
    TORCH_CHECK_VALUE(on_device(tensor), call.text, ": a tensor is on ", tensor.device(),
                      ", expected ", device_name(), "; group backend 'cpu:gloo,", device_name(),
                      ":", device_name(), "' has both.");
    TORCH_CHECK_VALUE(tensor.device() == device, call.text, ": tensors are on ", device, " and ",
                      tensor.device(), ", expected one device.");
    TORCH_CHECK_TYPE(tensor.layout() == at::kStrided && !tensor.is_conj() && !tensor.is_neg(),
                     call.text, ": expected strided tensors without conjugate or negative bit.");
  }
  return device.index();
}

Picoseconds DistributedBackend::ready(int device) {
  Schedule& tasks = schedule(device);
  const int64_t stream = collective_stream(device);
  tasks.block(stream, tasks.record(current_stream(device)));
  return tasks.record(stream);
}

int DistributedBackend::checked(const Call& call) {
  try {
    const int device = device_of(call);
    if (call.check) call.check();
    return device;
  } catch (const c10::Error& error) {
    agree(*transport_, {.call = call.text, .refusal = error.what_without_backtrace()});
    throw;
  }
}

void DistributedBackend::check_peers(const Call& call) const {
  TORCH_CHECK(timing_only() || transport_->getBackendName() != "fake", call.text,
              ": this process has no peers; such a group is for torch.neuron_sim.timing_only().");
}

DistributedBackend::Work DistributedBackend::captured(const Call& call, int device) {
  return translate_errors([&]() -> Work {
    capture_collective(call.operation, call.tensors, call.outputs, getSize());
    ++sequence_;
    const int64_t stream = current_stream(device);
    return c10::make_intrusive<CollectiveWork>(getRank(), call.type, device, stream,
                                               schedule(device).record(stream), call.outputs);
  });
}

DistributedBackend::Work DistributedBackend::run(const Call& call) {
  const int device = checked(call);
  check_peers(call);
  if (timing_only() && GraphCapture::active() != nullptr) return captured(call, device);
  return translate_errors([&]() -> Work {
    const Picoseconds mine = ready(device);
    const Agreement agreement =
        agree(*transport_, {call.text, mine, call.bytes, call.send, call.receive, ""});
    if (!timing_only()) call.move();
    const GroupTime time =
        group_time(device_architecture(device), call.operation, agreement.bytes, getSize());
    const int64_t stream = collective_stream(device);
    const Picoseconds end = agreement.start + time.duration;
    schedule(device).block(stream, end);
    record_collective({call.text, device, getSize(), agreement.bytes, time.algorithm, mine,
                       agreement.start, end});
    ++sequence_;
    return c10::make_intrusive<CollectiveWork>(getRank(), call.type, device, stream, end,
                                               call.outputs);
  });
}

}  // namespace neuron_sim
