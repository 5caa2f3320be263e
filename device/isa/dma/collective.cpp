#include "device/isa/dma/collective.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/fields.h"
#include "device/isa/dma/dma_transfer.h"

namespace neuron_sim {
namespace {

using collective_operand::kDst;
using collective_operand::kMetadata;
using collective_operand::kOther;
using collective_operand::kSrc;

constexpr OperandField kOperands[] = {{"dst", Direction::kWrite},
                                      {"src", Direction::kRead},
                                      {"src1", Direction::kRead, true},
                                      {"metadata_tensor", Direction::kReadWrite, true}};
constexpr AttributeField kAttributes[] = {{"replica_group", AttributeKind::kReplicaGroups},
                                          {"op", AttributeKind::kAluOp},
                                          {"collective_dim", AttributeKind::kInteger},
                                          {"channel_id", AttributeKind::kInteger},
                                          {"follows", AttributeKind::kFlag},
                                          {"writes_counts", AttributeKind::kFlag}};

constexpr int64_t kFewestRows = 3, kMostRows = 4;  // of metadata

bool varies(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGatherV || kind == CollectiveKind::kAllToAllV;
}

bool in_sbuf_too(CollectiveKind kind) {
  return !varies(kind) && kind != CollectiveKind::kAllToAll && kind != CollectiveKind::kPermute;
}

bool divides(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllToAll;
}

void check_view(const Draft& draft, int index, const Architecture& architecture) {
  const std::string_view name = draft.type->name;
  const std::string_view operand = kOperands[index].name;
  const View& view = draft.operand(index);
  if (in_sbuf_too(kind_of(*draft.type)) || index == kMetadata) {
    checks::memory(name, operand, view, {MemoryKind::kHbm, MemoryKind::kSbuf});
  } else {
    checks::memory(name, operand, view, {MemoryKind::kHbm});
  }
  if (view.memory() == MemoryKind::kSbuf) {
    checks::partitions(name, operand, view, architecture);
    checks::free_size(name, operand, view, architecture);
  }
  if (view.is_indirect() || view.register_index() >= 0) {
    fail(text("operand '", operand, "' of '", name, "' is ", view.describe(),
              " at an address that data decide; it must be known at compile time."));
  }
}

/// dst, src and src1 in one memory, of one dtype.
void check_tensors(const Draft& draft) {
  const std::string_view name = draft.type->name;
  const View& dst = draft.operand(kDst);
  for (const int index : {int{kSrc}, int{kOther}}) {
    const View& view = draft.operand(index);
    if (!view.present()) continue;
    if (view.memory() != dst.memory()) {
      fail(text("'", name, "': all tensors must be on HBM or all must be on SBUF, but dst is in ",
                neuron_sim::name(dst.memory()), " and ", kOperands[index].name, " in ",
                neuron_sim::name(view.memory()), "."));
    }
    if (view.dtype() != dst.dtype()) {
      fail(text("'", name, "' needs the same dtype, but dst is ", neuron_sim::name(dst.dtype()),
                " and ", kOperands[index].name, " is ", neuron_sim::name(view.dtype()), "."));
    }
  }
  checks::not_broadcast(name, "dst", dst);
}

void check_op(const Draft& draft) {
  if (!reduces(kind_of(*draft.type))) return;
  const auto op = draft.attribute(collective_attribute::kOp).as<AluOp>();
  if (op != AluOp::kAdd && op != AluOp::kMinimum && op != AluOp::kMaximum) {
    fail(text("op ", name(op), " of '", draft.type->name,
              "' is not supported; expected add, minimum or maximum."));
  }
  if (is_packed(draft.operand(kDst).dtype())) {
    checks::dtype_error(draft.type->name, "dst", draft.operand(kDst), "a dtype that is not packed");
  }
}

/// Groups of one size, where sizes depend on it.
int64_t size_of_groups(const Draft& draft) {
  const int64_t size = draft.groups->largest_group();
  for (const auto& group : draft.groups->groups) {
    if (static_cast<int64_t>(group.size()) == size) continue;
    fail(text("'", draft.type->name, "': the lists of replica group ", draft.groups->describe(),
              " must have the same number of ranks."));
  }
  return size;
}

/// `larger` has `ranks` times the elements of `smaller` in the collective's dimension.
void check_multiple(const Draft& draft, int larger, int smaller, int64_t ranks) {
  const View& large = draft.operand(larger);
  const View& small = draft.operand(smaller);
  const int64_t dimension = draft.attribute(collective_attribute::kDimension).integer();
  bool fits = element_count(large) == ranks * element_count(small);
  if (dimension == 1) fits = fits && large.size(0) == small.size(0);
  if (fits) return;
  fail(text("'", draft.type->name, "' over ", ranks, " ranks in dimension ", dimension, ": ",
            kOperands[larger].name, " ", large.describe(), " must have ", ranks,
            " times the elements of ", kOperands[smaller].name, " ", small.describe(), "."));
}

void check_divisible(const Draft& draft, int64_t ranks) {
  const View& src = draft.operand(kSrc);
  const auto dimension =
      static_cast<int>(draft.attribute(collective_attribute::kDimension).integer());
  if (src.size(dimension) % ranks == 0) return;
  fail(text("'", draft.type->name, "': dimension ", dimension, " of src ", src.describe(),
            " does not divide into the ", ranks, " ranks of a group."));
}

void check_sizes(const Draft& draft) {
  const CollectiveKind kind = kind_of(*draft.type);
  if (varies(kind)) return;
  if (!divides(kind)) {
    for (const int index : {int{kSrc}, int{kOther}}) {
      if (draft.operand(index).present()) check_multiple(draft, index, kDst, 1);
    }
    return;
  }
  const int64_t dimension = draft.attribute(collective_attribute::kDimension).integer();
  if (dimension != 0 && (dimension != 1 || draft.operand(kSrc).rank() < 2)) {
    fail(text("'", draft.type->name, "': collective_dim ", dimension, " of src ",
              draft.operand(kSrc).describe(), " is not supported; expected 0 or 1."));
  }
  const int64_t ranks = size_of_groups(draft);
  if (kind == CollectiveKind::kAllGather) return check_multiple(draft, kDst, kSrc, ranks);
  check_divisible(draft, ranks);
  if (kind == CollectiveKind::kReduceScatter) return check_multiple(draft, kSrc, kDst, ranks);
  check_multiple(draft, kSrc, kDst, 1);
}

/// uint32 [rows, ranks] in HBM, or in one partition.
void check_metadata(const Draft& draft) {
  if (!varies(kind_of(*draft.type))) return;
  const std::string_view name = draft.type->name;
  const View& metadata = draft.operand(kMetadata);
  if (!metadata.present()) fail(text("'", name, "' needs a metadata_tensor."));
  if (metadata.dtype() != Dtype::kUint32) {
    checks::dtype_error(name, "metadata_tensor", metadata, "uint32");
  }
  const int64_t ranks = size_of_groups(draft);
  const int64_t count = element_count(metadata);
  const bool one_partition = metadata.memory() == MemoryKind::kHbm || metadata.partitions() == 1;
  if (one_partition && (count == kFewestRows * ranks || count == kMostRows * ranks)) return;
  fail(text("operand 'metadata_tensor' of '", name, "' is ", metadata.describe(),
            ", but must have 3 or 4 rows of ", ranks, " counts in HBM or in one partition."));
}

void check(const Draft& draft, const Architecture& architecture) {
  require(draft.groups != nullptr, "a collective has replica groups");
  checks::engine(draft.type->name, draft.engine,
                 {EngineKind::kTensor, EngineKind::kVector, EngineKind::kScalar,
                  EngineKind::kGpSimd, EngineKind::kSync},
                 architecture);
  check_replica_groups(draft.type->name, *draft.groups);
  for (int index = kDst; index <= kMetadata; ++index) {
    if (draft.operand(index).present()) check_view(draft, index, architecture);
  }
  check_tensors(draft);
  check_op(draft);
  check_sizes(draft);
  check_metadata(draft);
}

int64_t bytes_of(const View& view) {
  return view.present() ? element_count(view) * itemsize(view.dtype()) : 0;
}

/// The larger buffer of a rank; how often it crosses which link depends on the groups.
Demand demand(const Draft& draft, const Architecture&) {
  Demand demand;
  demand.add({.unit = Unit::kCollective,
              .elements = 1,
              .bytes = std::max(bytes_of(draft.operand(kDst)), bytes_of(draft.operand(kSrc)))});
  return demand;
}

constexpr InstructionType entry(std::string_view name) {
  return {name,  kOperands, kAttributes, fixed_engine<EngineKind::kGpSimd>,
          check, nullptr,   demand,      Synchronisation::kCollective};
}

}  // namespace

const std::array<InstructionType, kCollectiveKinds> kCollectives = {
    entry("all_reduce"),
    entry("all_gather"),
    entry("all_gather_v"),
    entry("reduce_scatter"),
    entry("all_to_all"),
    entry("all_to_all_v"),
    entry("collective_permute"),
    entry("collective_permute_implicit"),
    entry("collective_permute_implicit_reduce")};

CollectiveKind kind_of(const InstructionType& type) {
  return static_cast<CollectiveKind>(&type - kCollectives.data());
}

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kPermuteImplicitReduce;
}

Draft Collective::draft() const {
  Draft draft =
      make_draft(kCollectives[static_cast<size_t>(kind)], engine, {&dst, &src, &other, &metadata},
                 {Attribute::of(int64_t{0}), Attribute::of(op), Attribute::of(dimension),
                  Attribute::of(channel), Attribute::of(follows), Attribute::of(writes_counts)});
  draft.groups = groups;
  return draft;
}

}  // namespace neuron_sim
