#pragma once
// The announcements that the ranks of a group exchange before a collective moves data: their call,
// and when they are ready in simulated time.

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <string>
#include <vector>

#include "device/base/units.h"

namespace neuron_sim {

/// One rank's part. Texts are compared, so they hold only what all ranks must agree on.
struct Announcement {
  std::string call{};           ///< "allreduce(SUM) of float32 [3, 4]"; cut after 900 bytes
  Picoseconds ready{};          ///< the rank's simulated time
  Bytes bytes{};                ///< of this rank, for the cost
  std::vector<int64_t> send{};  ///< elements for each rank; empty unless the ranks' parts differ
  std::vector<int64_t> receive{};
  std::string refusal{};  ///< why this rank cannot take part; empty when it can
};

/// The bytes of an announcement for a group of `ranks`: as many for every announcement.
at::Tensor encode(const Announcement& announcement, int ranks);
/// The announcement in bytes made by encode.
Announcement decode(const at::Tensor& bytes, int ranks);

/// What all ranks know after their announcements.
struct Agreement {
  Picoseconds start{};  ///< when the last rank is ready
  Bytes bytes{};        ///< the most of any rank
};

/// Tells the group over `transport` and hears all others. c10::ValueError on every rank when one
/// refuses, calls something else, or does not receive as much as another one sends to it; nothing
/// has been moved then.
Agreement agree(c10d::Backend& transport, const Announcement& mine);

/// The error of `mine` and `other` not being the same call.
[[noreturn]] void fail_differing(const Announcement& mine, int my_rank, const Announcement& other,
                                 int other_rank);

}  // namespace neuron_sim
