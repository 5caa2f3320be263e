#include "device/isa/dma/sendrecv.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/element_copy.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "sendrecv";
using enum SendRecv::OperandIndex;
using enum SendRecv::AttributeIndex;
constexpr auto kOperands = operand_table<SendRecv>();
constexpr auto kAttributes = attribute_table<SendRecv>();

bool by_gpsimd(const Draft& draft) {
  return draft.attribute(kDmaEngine).as<DmaEngine>() == DmaEngine::kGpSimdDma;
}

EngineKind choose_engine(const Draft& draft, const Architecture&) {
  return by_gpsimd(draft) ? EngineKind::kGpSimd : EngineKind::kSync;
}

void check_rank(const Draft& draft, SendRecv::AttributeIndex index) {
  const int64_t rank = draft.attribute(index).integer();
  const int peer = 1 - draft.core;
  if (rank == peer) return;
  fail(text("'sendrecv' of core ", draft.core, ": ", kAttributes[index].name, " is ", rank,
            "; it must be ", peer, ", the other core of the logical core."));
}

void check_tiles(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  for (const SendRecv::OperandIndex operand : {kDst, kSrc}) {
    const View& view = draft.operand(operand);
    checks::memory(kName, kOperands[operand].name, view, {MemoryKind::kSbuf});
    checks::partitions(kName, kOperands[operand].name, view, architecture);
    checks::free_size(kName, kOperands[operand].name, view, architecture);
  }
  if (dst.shape() != src.shape() || dst.dtype() != src.dtype()) {
    fail(text("'sendrecv' needs the same shape and dtype, but dst is ", name(dst.dtype()), " ",
              dst.describe(), " and src is ", name(src.dtype()), " ", src.describe(), "."));
  }
  for (int i = 0; i < dst.rank(); ++i) {
    if (dst.size(i) == 1 || dst.dimension(i).stride != 0) continue;
    fail(text("operand 'dst' of 'sendrecv' repeats dimension ", i, " of ", dst.describe(),
              "; only a source can be broadcast."));
  }
}

void check_gpsimd(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& src = draft.operand(kSrc);
  const int64_t limit = architecture.limits.gpsimd_dma_elements;
  if (src.free_elements() <= limit) return;
  const int64_t item = itemsize(src.dtype());
  fail(text("'sendrecv' of ", name(src.dtype()), " ", src.describe(), " by gpsimd_dma: ",
            src.free_elements() * item, " bytes per partition exceed architecture limitation of ",
            limit * item, " for ", item, "-byte dtypes on ", architecture.name, "."));
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::generation(kName, 3, architecture);
  check_rank(draft, kSendToRank);
  check_rank(draft, kRecvFromRank);
  if (draft.attribute(kPipeId).integer() < 0) {
    fail(text("'sendrecv': pipe_id ", draft.attribute(kPipeId).integer(), " is negative."));
  }
  check_tiles(draft, architecture);
  if (by_gpsimd(draft)) return check_gpsimd(draft, architecture);
  checks::engine(kName, draft.engine,
                 {EngineKind::kTensor, EngineKind::kVector, EngineKind::kScalar,
                  EngineKind::kGpSimd, EngineKind::kSync},
                 architecture);
}

/// All dimensions of one side, the partition dimension first.
std::array<Dimension, kMaximumCopyRank> dimensions_of(const Access& access) {
  std::array<Dimension, kMaximumCopyRank> result{};
  result[0] = {access.partitions, access.partition_stride};
  for (int i = 0; i < access.rank; ++i) {
    result[static_cast<size_t>(i) + 1] = access.free[static_cast<size_t>(i)];
  }
  return result;
}

/// One direction: the operand src is that of the other core.
void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  const auto to = dimensions_of(dst), from = dimensions_of(src);
  copy_elements({src.data, {from.data(), static_cast<size_t>(src.rank) + 1}},
                {dst.data, {to.data(), static_cast<size_t>(dst.rank) + 1}}, itemsize(dst.dtype));
}

Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& src = draft.operand(kSrc);
  if (!by_gpsimd(draft)) {
    Draft copy = DmaCopy{.dst = draft.operand(kDst), .src = src, .engine = draft.engine}.draft();
    return kDmaCopy.demand(copy, architecture);
  }
  Demand demand;
  demand.add({.unit = Unit::kGpSimdDma,
              .elements = src.partitions(),
              .bytes = src.free_elements() * itemsize(src.dtype())});
  return demand;
}

}  // namespace

Draft SendRecv::draft() const { return draft_of(kSendRecv, *this); }

const InstructionType kSendRecv = {kName, kOperands, kAttributes, choose_engine,
                                   check, run,       demand,      Synchronisation::kExchange};

}  // namespace neuron_sim
