#pragma once
// Which ranks take part in a collective.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neuron_sim {

/// Ranks of a collective: lists of ranks, each of which communicates within itself, in that order.
/// No rank is in two lists, or twice in one. Ranks in none of them do not take part.
struct ReplicaGroups {
  std::vector<std::vector<int64_t>> groups;

  /// A rank's group and its place there.
  struct Place {
    const std::vector<int64_t>* group;
    int64_t position;
    int64_t size() const { return static_cast<int64_t>(group->size()); }
  };
  /// Nothing when the rank does not take part.
  std::optional<Place> find(int64_t rank) const;
  /// The rank with the largest number.
  int64_t largest_rank() const;
  /// Ranks of the largest group.
  int64_t largest_group() const;
  /// `[[0, 1], [2, 3]]`
  std::string describe() const;
};

/// KernelError unless there are groups, none empty, of ranks from 0 on, none of them twice.
void check_replica_groups(std::string_view instruction, const ReplicaGroups& groups);

/// The rings that source-target pairs form: every rank that sends also receives, once each
/// (KernelError). Ring i is followed from its smallest rank.
ReplicaGroups rings_of(std::string_view instruction,
                       const std::vector<std::vector<int64_t>>& source_target_pairs);

}  // namespace neuron_sim
