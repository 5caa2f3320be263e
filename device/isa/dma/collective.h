#pragma once
// Collectives: exchanges of tensors among the ranks of a replica group.

#include <array>
#include <memory>

#include "device/instruction/instruction_type.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kAllGatherV,
  kReduceScatter,
  kAllToAll,
  kAllToAllV,
  kPermute,
  kPermuteImplicit,
  kPermuteImplicitReduce,
};
inline constexpr int kCollectiveKinds = 9;

/// Operands of every collective; `other` of kPermuteImplicitReduce, `metadata` of the kinds V.
namespace collective_operand {
enum : int { kDst, kSrc, kOther, kMetadata };
}
namespace collective_attribute {
enum : int { kGroups, kOp, kDimension, kChannel, kFollows, kWritesCounts };
}

/// One tensor of a collective. In a group of n ranks, in the order of its list, each rank r gets:
///
/// kAllReduce             dst = src of all ranks reduced by op
/// kAllGather             dst = the srcs of all ranks, one after the other in `dimension`
/// kReduceScatter         dst = part r of n, in `dimension`, of what kAllReduce would give
/// kAllToAll              part k of dst = part r of the src of rank k
/// kPermute,
/// kPermuteImplicit       dst = src of the rank before it in the ring
/// kPermuteImplicitReduce dst = op(src, other) of the rank before it
/// kAllGatherV, kAllToAllV  as kAllGather, kAllToAll on flat tensors, by the counts in `metadata`:
///   rows send_counts, send_displs, recv_counts (written if `writes_counts`) and, where there is a
///   fourth, recv_displs; without it rank k's part lies at dst.elements / n * k.
///
/// Tensors lie in HBM, or all in SBUF for all but kAllToAll, the kinds V and kPermute; one dtype.
/// op is add, minimum or maximum: floats in fp32 in the order of the group, rounded once, integers
/// exactly (both assumed). The n-th collective of a core of a rank meets the n-th of that core of
/// the other ranks of its group, which must be the same one, else the kernels deadlock or cannot
/// run (KernelError). Ranks in no group do nothing. `dimension` is 0 or 1.
///
/// `engine` (EngineKind::kAuto: GpSimd, assumed) triggers it and continues; collectives of a core
/// run one after the other. `follows` marks a further tensor of one call, which shares its latency.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  View dst, src;
  std::shared_ptr<const ReplicaGroups> groups;
  View other{}, metadata{};
  AluOp op = AluOp::kAdd;
  int64_t dimension = 0;
  int64_t channel = 0;
  bool follows = false;
  bool writes_counts = false;
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

/// By CollectiveKind.
extern const std::array<InstructionType, kCollectiveKinds> kCollectives;

/// The kind of an instruction whose type is one of kCollectives.
CollectiveKind kind_of(const InstructionType& type);
/// Whether a kind sums or compares the data it moves.
bool reduces(CollectiveKind kind);

}  // namespace neuron_sim
