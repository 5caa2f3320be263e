// send and recv. Each message starts with a header, so that both sides know what the other one
// calls and when; the bytes follow when the two fit. Every message runs on its own thread.

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "csrc/distributed/account.h"
#include "csrc/distributed/backend.h"
#include "csrc/distributed/collective_work.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

// Tags of the transport: tags of users are below, the replies and bytes of message n above.
constexpr int kFirstOwnTag = 1 << 29;
constexpr int kMessages = 1 << 28;

int reply_tag(int64_t message) { return kFirstOwnTag + 2 * static_cast<int>(message % kMessages); }
int bytes_tag(int64_t message) { return reply_tag(message) + 1; }

void check_tag(int tag, const std::string& call) {
  TORCH_CHECK_VALUE(tag >= 0 && tag < kFirstOwnTag, call, ": tag ", tag,
                    " is out of range; tags are 0 to ", kFirstOwnTag - 1, ".");
}

void check_other(int other, int rank, int ranks, const std::string& call) {
  check_root(other, ranks, call);
  TORCH_CHECK_VALUE(other != rank, call, ": rank ", rank, " is this process itself.");
}

c10::intrusive_ptr<c10d::Work> post_send(c10d::Backend& transport, at::Tensor bytes, int to,
                                         int tag) {
  Tensors one = {std::move(bytes)};
  return transport.send(one, to, tag);
}

c10::intrusive_ptr<c10d::Work> post_receive(c10d::Backend& transport, const at::Tensor& bytes,
                                            int from, int tag) {
  Tensors one = {bytes};
  return from < 0 ? transport.recvAnysource(one, tag) : transport.recv(one, from, tag);
}

/// A place for an announcement: of messages, the elements sent hold the message's number.
at::Tensor empty_header() { return encode({.send = {0}, .receive = {0}}, 1); }

/// The outcome of a message, which both sides know.
MessageEnd ended(const Announcement& mine, const Announcement& other, int device, int source) {
  const GroupTime time =
      group_time(device_architecture(device), GroupOperation::kSend, mine.bytes, 2);
  const Picoseconds start = std::max(mine.ready, other.ready);
  const Picoseconds end = start + time.duration;
  record_collective({mine.call, device, 2, mine.bytes, time.algorithm, mine.ready, start, end});
  return {end, source};
}

/// Both announce the same tensors.
void check_same(const Announcement& mine, int rank, const Announcement& other, int other_rank) {
  const auto content = [](const std::string& call) { return call.substr(call.find(' ')); };
  if (content(mine.call) == content(other.call)) return;
  TORCH_CHECK_VALUE(false, "neuron_sim: rank ", rank, " calls ", mine.call, ", but rank ",
                    other_rank, " calls ", other.call, ".");
}

}  // namespace

DistributedBackend::Call DistributedBackend::message(const char* verb, Tensors& tensors,
                                                     int tag) const {
  Call call{.text = c10::str(verb, " of ", shapes_text(tensors)),
            .bytes = total_bytes(tensors),
            .tensors = tensors};
  only(tensors, verb);
  check_tag(tag, call.text);
  call.device = device_of(call);
  return call;
}

DistributedBackend::Work DistributedBackend::send(Tensors& tensors, int destination, int tag) {
  const Call call = message("send", tensors, tag);
  check_other(destination, getRank(), getSize(), call.text);
  const Picoseconds time = schedule(call.device).record(current_stream(call.device));
  int number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = sent_[destination]++;
  }
  const Announcement mine{call.text, time, call.bytes, {number}, {0}, ""};
  const auto header = post_send(*transport_, encode(mine, 1), destination, tag);
  const at::Tensor bytes = bytes_of(host_tensors(tensors)[0]).clone();
  const auto transfer = [=, rank = getRank(), transport = transport_] {
    finish(header);
    const at::Tensor reply = empty_header();
    finish(post_receive(*transport, reply, destination, reply_tag(number)));
    const Announcement other = decode(reply, 1);
    check_same(mine, rank, other, destination);
    if (bytes.numel() > 0) {
      finish(post_send(*transport, bytes, destination, bytes_tag(number)));
    }
    return ended(mine, other, call.device, rank);
  };
  return c10::make_intrusive<MessageWork>(getRank(), c10d::OpType::SEND, call.device, tensors,
                                          transfer);
}

DistributedBackend::Work DistributedBackend::receive(Tensors& tensors, int source, int tag) {
  const Call call = message("recv", tensors, tag);
  if (source >= 0) check_other(source, getRank(), getSize(), call.text);
  const Picoseconds time = schedule(call.device).record(current_stream(call.device));
  const Announcement mine{call.text, time, call.bytes, {0}, {0}, ""};
  const at::Tensor header = empty_header(), target = host_tensors(tensors)[0];
  const auto arrival = post_receive(*transport_, header, source, tag);
  const auto transfer = [=, rank = getRank(), transport = transport_] {
    finish(arrival);
    const int from = source < 0 ? arrival->sourceRank() : source;
    const Announcement other = decode(header, 1);
    const int64_t number = other.send[0];
    finish(post_send(*transport, encode(mine, 1), from, reply_tag(number)));
    check_same(mine, rank, other, from);
    const at::Tensor bytes = bytes_of(target).clone();
    if (bytes.numel() > 0) {
      finish(post_receive(*transport, bytes, from, bytes_tag(number)));
      target.copy_(bytes.view(target.scalar_type()).view(target.sizes()));
    }
    return ended(mine, other, call.device, from);
  };
  return c10::make_intrusive<MessageWork>(getRank(), c10d::OpType::RECV, call.device, tensors,
                                          transfer);
}

DistributedBackend::Work DistributedBackend::recv(Tensors& tensors, int source, int tag) {
  TORCH_CHECK_VALUE(source >= 0, "recv: there is no rank ", source, ".");
  return receive(tensors, source, tag);
}

DistributedBackend::Work DistributedBackend::recvAnysource(Tensors& tensors, int tag) {
  return receive(tensors, -1, tag);
}

}  // namespace neuron_sim
