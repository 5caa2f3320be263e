#include "device/instruction/replica_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

std::string list_of(const std::vector<int64_t>& ranks) {
  std::string result = "[";
  for (size_t i = 0; i < ranks.size(); ++i) result += text(i == 0 ? "" : ", ", ranks[i]);
  return result + "]";
}

}  // namespace

std::optional<ReplicaGroups::Place> ReplicaGroups::find(int64_t rank) const {
  for (const auto& group : groups) {
    const auto at = std::find(group.begin(), group.end(), rank);
    if (at != group.end()) return Place{&group, at - group.begin()};
  }
  return std::nullopt;
}

int64_t ReplicaGroups::largest_rank() const {
  int64_t result = 0;
  for (const auto& group : groups) {
    for (const int64_t rank : group) result = std::max(result, rank);
  }
  return result;
}

int64_t ReplicaGroups::largest_group() const {
  size_t result = 0;
  for (const auto& group : groups) result = std::max(result, group.size());
  return static_cast<int64_t>(result);
}

std::string ReplicaGroups::describe() const {
  std::string result = "[";
  for (size_t i = 0; i < groups.size(); ++i) {
    result += text(i == 0 ? "" : ", ", list_of(groups[i]));
  }
  return result + "]";
}

void check_replica_groups(std::string_view instruction, const ReplicaGroups& groups) {
  const std::string where = text("'", instruction, "': replica group ", groups.describe());
  if (groups.groups.empty()) fail(text(where, " has no ranks."));
  std::set<int64_t> seen;
  for (const auto& group : groups.groups) {
    if (group.empty()) fail(text(where, " has a list without ranks."));
    for (const int64_t rank : group) {
      if (rank < 0) fail(text(where, " has rank ", rank, ", but ranks start at 0."));
      if (!seen.insert(rank).second) {
        fail(text(where, " has rank ", rank, " twice; sub-groups should not have any overlap."));
      }
    }
  }
}

ReplicaGroups rings_of(std::string_view instruction,
                       const std::vector<std::vector<int64_t>>& source_target_pairs) {
  const std::string where = text("'", instruction, "': source_target_pairs ",
                                 ReplicaGroups{source_target_pairs}.describe());
  std::map<int64_t, int64_t> target_of;
  std::set<int64_t> targets;
  if (source_target_pairs.empty()) fail(text(where, " has no pairs."));
  for (const auto& pair : source_target_pairs) {
    if (pair.size() != 2) fail(text(where, " has an entry that is no (source, target)."));
    for (const int64_t rank : pair) {
      if (rank < 0) fail(text(where, " has rank ", rank, ", but ranks start at 0."));
    }
    if (!target_of.emplace(pair[0], pair[1]).second) {
      fail(text(where, ": rank ", pair[0], " sends twice."));
    }
    if (!targets.insert(pair[1]).second) {
      fail(text(where, ": rank ", pair[1], " receives twice."));
    }
  }
  for (const auto& [source, target] : target_of) {
    if (targets.count(source) != 0) continue;
    fail(text(where, ": rank ", source,
              " sends but does not receive; only circular permute patterns are supported."));
  }
  ReplicaGroups rings;
  while (!target_of.empty()) {
    const int64_t first = target_of.begin()->first;
    std::vector<int64_t> ring;
    int64_t rank = first;
    do {
      ring.push_back(rank);
      const auto at = target_of.find(rank);
      rank = at->second;
      target_of.erase(at);
    } while (rank != first);
    rings.groups.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace neuron_sim
