#include "device/isa/dma/dma_copy.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/rows.h"
#include "device/isa/dma/dma_transfer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "dma_copy";
using enum DmaCopy::OperandIndex;
using enum DmaCopy::AttributeIndex;

constexpr auto kOperands = operand_table<DmaCopy>();
constexpr auto kAttributes = attribute_table<DmaCopy>();

DescriptorNeeds needs(const Draft& draft) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  return {.indirect = draft.operand(kIndex).present(),
          .casts = dst.dtype() != src.dtype(),
          .computes = draft.attribute(kAdd).flag(),
          .register_address = dst.register_index() >= 0 || src.register_index() >= 0};
}

EngineKind choose_engine(const Draft& draft, const Architecture& architecture) {
  return choose_dma_engine(draft.attribute(kDescriptors).integer(), needs(draft), architecture);
}

DescriptorKind descriptor_kind(const Draft& draft, const Architecture& architecture) {
  return choose_descriptors(draft.attribute(kDescriptors).integer(), needs(draft), draft.engine,
                            architecture);
}

void check_index(const Draft& draft) {
  const View& index = draft.operand(kIndex);
  const bool gathers = draft.operand(kSrc).is_indirect();
  const bool scatters = draft.operand(kDst).is_indirect();
  if (gathers && scatters) fail("'dma_copy' cannot have an indirect 'src' and an indirect 'dst'.");
  if (index.present() != (gathers || scatters)) {
    fail("'dma_copy' needs operand 'index' together with an indirect 'src' or 'dst'.");
  }
  if (!index.present()) return;
  checks::memory(kName, gathers ? "src" : "dst", draft.operand(gathers ? kSrc : kDst),
                 {MemoryKind::kHbm});
  checks::memory(kName, "index", index, {MemoryKind::kSbuf});
  if (index.dtype() != Dtype::kInt32 && index.dtype() != Dtype::kUint32) {
    checks::dtype_error(kName, "index", index, "int32 or uint32");
  }
  checks::same_partitions(kName, "dst", draft.operand(kDst), "src", draft.operand(kSrc));
  checks::same_partitions(kName, "dst", draft.operand(kDst), "index", index);
  if (index.free_elements() != 1) {
    fail(text("operand 'index' of 'dma_copy' is ", index.describe(),
              ", but must have one element per partition."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::dma_engine(kName, draft.engine, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  checks::dma_operand(kName, "dst", dst, architecture);
  checks::dma_operand(kName, "src", src, architecture);
  if (element_count(dst) != element_count(src)) {
    fail(text("'dma_copy' needs equal element counts, but dst ", dst.describe(), " has ",
              element_count(dst), " and src ", src.describe(), " has ", element_count(src), "."));
  }
  if (element_count(dst) == 0) fail(text("'dma_copy' of no elements to ", dst.describe(), "."));
  checks::not_broadcast(kName, "dst", dst);
  checks::dma_cast(kName, dst, src);
  if (draft.attribute(kAdd).flag() && is_packed(dst.dtype())) {
    checks::dtype_error(kName, "dst", dst, "a dtype to add in, because dst_rmw_op is add");
  }
  check_index(draft);
  const DescriptorKind kind = descriptor_kind(draft, architecture);
  const std::string_view reason =
      descriptor_objection(kind, needs(draft), draft.engine, architecture);
  if (!reason.empty()) {
    fail(text("'dma_copy' from ", name(src.dtype()), " ", src.describe(), " to ", name(dst.dtype()),
              " ", dst.describe(), " on engine ", name(draft.engine), " of architecture ",
              architecture.name, ": ", reason, "."),
         kind == DescriptorKind::kHardware && !architecture.features.hardware_descriptors
             ? ErrorKind::kNotImplemented
             : ErrorKind::kValue);
  }
  checks::dma_priority(kName, draft.attribute(kPriority).integer(), kind, architecture);
}

/// One region of dst = src, or dst + src in fp32.
void transfer_region(const SourceRegion& source, Dtype source_dtype, const TargetRegion& target,
                     Dtype target_dtype, bool add) {
  if (!add) return transfer_elements(source, source_dtype, target, target_dtype);
  RowScratch& scratch = row_scratch();
  load_region({target.data, target.dimensions}, target_dtype, scratch.first);
  load_region(source, source_dtype, scratch.second);
  for (size_t i = 0; i < scratch.first.size(); ++i) scratch.first[i] += scratch.second[i];
  store_region(scratch.first, target, target_dtype);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  const TransferSide to(dst), from(src);
  const bool add = instance.attribute(kAdd).flag();
  if (dst.rows == nullptr && src.rows == nullptr) {
    return transfer_region({src.data, from.all()}, src.dtype, {dst.data, to.all()}, dst.dtype, add);
  }
  if (add && dst.rows != nullptr && instance.attribute(kUniqueIndices).flag()) {
    require_unique_rows(kName, {dst.rows, static_cast<size_t>(dst.partitions)});
  }
  const int32_t* rows = dst.rows != nullptr ? dst.rows : src.rows;
  for (int64_t p = 0; p < dst.partitions; ++p) {
    if (rows[p] < 0) continue;
    transfer_region({src.partition(p), from.free()}, src.dtype, {dst.partition(p), to.free()},
                    dst.dtype, add);
  }
}

Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  Step step{.unit = Unit::kDma,
            .descriptors = descriptor_kind(draft, architecture),
            .transfer =
                draft.attribute(kAdd).flag() ? TransferClass::kCompute : TransferClass::kCopy,
            .store = src.memory() == MemoryKind::kSbuf};
  count_descriptors(dst, src, step);
  const bool in_hbm = dst.memory() == MemoryKind::kHbm && src.memory() == MemoryKind::kHbm;
  if (in_hbm && !draft.operand(kIndex).present()) spread_over_engines(architecture, step);
  Demand demand;
  demand.add(step);
  return demand;
}

}  // namespace

Draft DmaCopy::draft() const { return draft_of(kDmaCopy, *this); }

const InstructionType kDmaCopy =
    as_stackable(as_elementwise({kName, kOperands, kAttributes, choose_engine, check, run, demand,
                                 Synchronisation::kNone, kIndex, kOobSkip}));

}  // namespace neuron_sim
