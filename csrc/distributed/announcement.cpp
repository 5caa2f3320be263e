#include "csrc/distributed/announcement.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>

namespace neuron_sim {
namespace {

constexpr size_t kTextBytes = 900;
constexpr size_t kFirstPart = 3;

// Layout: ready, bytes, whether there are parts, send[ranks], receive[ranks] as int64, then the two
// texts.
size_t head_count(int ranks) { return kFirstPart + 2 * static_cast<size_t>(ranks); }

void put_text(char* at, const std::string& text) {
  std::memcpy(at, text.data(), std::min(text.size(), kTextBytes - 1));
}

void check_parts(const std::vector<Announcement>& all, int rank) {
  const Announcement& mine = all[static_cast<size_t>(rank)];
  for (size_t other = 0; other < all.size() && !mine.send.empty(); ++other) {
    const int64_t sent = all[other].send[static_cast<size_t>(rank)];
    TORCH_CHECK_VALUE(sent == mine.receive[other], "neuron_sim: ", mine.call, ": rank ", other,
                      " sends ", sent, " elements to rank ", rank, ", which expects ",
                      mine.receive[other], ".");
  }
}

/// Checks all pairs, so that every rank raises when one pair does not fit.
void check_all_parts(const std::vector<Announcement>& all) {
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) check_parts(all, rank);
}

}  // namespace

at::Tensor encode(const Announcement& announcement, int ranks) {
  std::vector<int64_t> head(head_count(ranks));
  head[0] = announcement.ready.count;
  head[1] = announcement.bytes.count;
  head[2] = announcement.send.empty() ? 0 : 1;
  const auto parts = head.begin() + kFirstPart;
  std::copy(announcement.send.begin(), announcement.send.end(), parts);
  std::copy(announcement.receive.begin(), announcement.receive.end(), parts + ranks);
  const size_t head_bytes = head.size() * sizeof(int64_t);
  at::Tensor bytes = at::zeros({static_cast<int64_t>(head_bytes + 2 * kTextBytes)}, at::kByte);
  auto* to = reinterpret_cast<char*>(bytes.mutable_data_ptr<uint8_t>());
  std::memcpy(to, head.data(), head_bytes);
  put_text(to + head_bytes, announcement.call);
  put_text(to + head_bytes + kTextBytes, announcement.refusal);
  return bytes;
}

Announcement decode(const at::Tensor& bytes, int ranks) {
  std::vector<int64_t> head(head_count(ranks));
  const size_t head_bytes = head.size() * sizeof(int64_t);
  const auto* from = reinterpret_cast<const char*>(bytes.const_data_ptr<uint8_t>());
  std::memcpy(head.data(), from, head_bytes);
  Announcement announcement;
  announcement.ready = {head[0]};
  announcement.bytes = {head[1]};
  if (head[2] != 0) {
    const auto parts = head.begin() + kFirstPart;
    announcement.send.assign(parts, parts + ranks);
    announcement.receive.assign(parts + ranks, head.end());
  }
  announcement.call = from + head_bytes;
  announcement.refusal = from + head_bytes + kTextBytes;
  return announcement;
}

void fail_differing(const Announcement& mine, int my_rank, const Announcement& other,
                    int other_rank) {
  TORCH_CHECK_VALUE(other.refusal.empty(), "neuron_sim: rank ", other_rank, " cannot take part in ",
                    mine.call, ": ", other.refusal);
  TORCH_CHECK_VALUE(false, "neuron_sim: rank ", my_rank, " calls ", mine.call, " while rank ",
                    other_rank, " calls ", other.call,
                    "; all ranks of a group make the same calls in the same order.");
}

Agreement agree(c10d::Backend& transport, const Announcement& mine) {
  const int ranks = transport.getSize(), rank = transport.getRank();
  at::Tensor encoded = encode(mine, ranks);
  at::Tensor gathered = at::empty({ranks, encoded.numel()}, at::kByte);
  at::Tensor flat = gathered.view(-1);
  transport._allgather_base(flat, encoded)->wait();
  Agreement agreement{mine.ready, mine.bytes};
  std::vector<Announcement> all;
  // As sent: a long text was cut for everybody.
  for (int other = 0; other < ranks; ++other) all.push_back(decode(gathered[other], ranks));
  const Announcement& own = all[static_cast<size_t>(rank)];
  if (!own.refusal.empty()) return agreement;  // the caller raises its own error
  for (int other = 0; other < ranks; ++other) {
    const Announcement& theirs = all[static_cast<size_t>(other)];
    if (!theirs.refusal.empty() || theirs.call != own.call) {
      fail_differing(own, rank, theirs, other);
    }
    agreement.start = std::max(agreement.start, theirs.ready);
    agreement.bytes.count = std::max(agreement.bytes.count, theirs.bytes.count);
  }
  check_all_parts(all);
  return agreement;
}

}  // namespace neuron_sim
