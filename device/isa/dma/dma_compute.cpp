#include "device/isa/dma/dma_compute.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/rows.h"
#include "device/isa/dma/dma_transfer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "dma_compute";
constexpr int kMostSources = std::size(DmaCompute::kSourceFields);

using enum DmaCompute::OperandIndex;
using enum DmaCompute::AttributeIndex;
constexpr auto kOperands = operand_table<DmaCompute>();
constexpr auto kAttributes = attribute_table<DmaCompute>();

int source_count(const Draft& draft) {
  int count = 0;
  while (count < kMostSources && draft.operand(kSources + count).present()) ++count;
  return count;
}

bool is_indirect(const Draft& draft) { return draft.operand(kIndex).present(); }

EngineKind choose_engine(const Draft& draft, const Architecture& architecture) {
  return choose_dma_engine(kDmaAutomatic, {.indirect = is_indirect(draft), .computes = true},
                           architecture);
}

DescriptorKind descriptor_kind(const Draft& draft) {
  return is_indirect(draft) ? DescriptorKind::kSoftware : DescriptorKind::kStatic;
}

/// Whether both are the same elements of one tensor.
bool same_view(const View& a, const View& b) {
  bool same = a.tile() == b.tile() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
              a.is_indirect() == b.is_indirect();
  for (const auto member : {&View::offset, &View::partition, &View::ring_index}) {
    const Affine difference = (a.*member)() - (b.*member)();
    same = same && difference.is_constant() && difference.constant() == 0;
  }
  for (int i = 0; same && i < a.rank(); ++i) same = a.dimension(i).stride == b.dimension(i).stride;
  return same;
}

void check_view(const Draft& draft, int index, const Architecture& architecture) {
  const View& view = draft.operand(index);
  const std::string_view operand = kOperands[index].name;
  checks::dma_operand(kName, operand, view, architecture);
  if (is_packed(view.dtype())) {
    checks::dtype_error(kName, operand, view, "a dtype that is not packed");
  }
  if (view.register_index() >= 0) {
    fail(text("operand '", operand, "' of 'dma_compute' is ", view.describe(),
              " at an address in a register; addresses must be known at compile time."));
  }
  const View& dst = draft.operand(kDst);
  if (element_count(view) != element_count(dst)) {
    fail(text("'dma_compute' needs equal element counts, but dst ", dst.describe(), " has ",
              element_count(dst), " and ", operand, " ", view.describe(), " has ",
              element_count(view), "."));
  }
}

void check_index_tile(const Draft& draft) {
  const View& index = draft.operand(kIndex);
  checks::memory(kName, "index", index, {MemoryKind::kSbuf});
  if (index.dtype() != Dtype::kInt32 && index.dtype() != Dtype::kUint32) {
    checks::dtype_error(kName, "index", index, "int32 or uint32");
  }
  for (int i = kDst; i <= kSources + 1; ++i) {
    checks::same_partitions(kName, "index", index, kOperands[i].name, draft.operand(i));
  }
  if (index.free_elements() != 1) {
    fail(text("operand 'index' of 'dma_compute' is ", index.describe(),
              ", but must have one element per partition."));
  }
}

/// Read-modify-write of indexed rows: one source is dst, the other the addend.
void check_indirect(const Draft& draft) {
  const View& dst = draft.operand(kDst);
  bool any = dst.is_indirect();
  for (int i = 0; i < source_count(draft); ++i) {
    any = any || draft.operand(kSources + i).is_indirect();
  }
  if (any != is_indirect(draft)) {
    fail("'dma_compute' needs operand 'index' together with an indirect operand.");
  }
  if (!any) return;
  if (source_count(draft) != 2) {
    fail(text("'dma_compute' with an index needs exactly 2 sources, not ", source_count(draft),
              "."));
  }
  if (!draft.attribute(kUniqueIndices).flag()) {
    fail("'dma_compute' with an index needs unique_indices to be True.");
  }
  const int own = same_view(draft.operand(kSources), dst) ? 0 : 1;
  const View& other = draft.operand(kSources + 1 - own);
  const bool scatter = dst.is_indirect() && other.memory() == MemoryKind::kSbuf;
  const bool gather = dst.memory() == MemoryKind::kSbuf && other.is_indirect();
  if (!same_view(draft.operand(kSources + own), dst) || scatter == gather) {
    fail(text("'dma_compute' with an index needs one source that matches dst ", dst.describe(),
              ", and another in SBUF (dst is indirect) or indirect in HBM (dst is in SBUF)."));
  }
  check_index_tile(draft);
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::dma_engine(kName, draft.engine, architecture);
  for (int i = kDst; i < kSources + std::max(source_count(draft), 1); ++i) {
    check_view(draft, i, architecture);
  }
  if (element_count(draft.operand(kDst)) == 0) {
    fail(text("'dma_compute' of no elements to ", draft.operand(kDst).describe(), "."));
  }
  checks::not_broadcast(kName, "dst", draft.operand(kDst));
  const auto op = draft.attribute(kReduceOp).as<AluOp>();
  if (op != AluOp::kAdd) {
    fail(text("reduce_op ", name(op), " of 'dma_compute' is not supported; expected add."));
  }
  if (draft.attribute(kScale).real() != 1) {
    fail(text("scale ", draft.attribute(kScale).real(),
              " of 'dma_compute' is not supported; all scales must be 1.0."));
  }
  check_indirect(draft);
  if (!is_indirect(draft) && draft.attribute(kOobSkip).flag()) {
    fail("'dma_compute' skips rows out of bounds only with an index.");
  }
  const std::string_view reason = descriptor_objection(
      descriptor_kind(draft), {.indirect = is_indirect(draft)}, draft.engine, architecture);
  if (!reason.empty()) {
    fail(text("'dma_compute' to ", draft.operand(kDst).describe(), " on engine ",
              name(draft.engine), " of architecture ", architecture.name, ": ", reason, "."));
  }
}

/// One region of every operand: all of them, or one indexed row.
void sum_region(const Instance& instance, int64_t row, bool whole) {
  RowScratch& scratch = row_scratch();
  const auto dimensions = [&](const TransferSide& side) {
    return whole ? side.all() : side.free();
  };
  const auto data = [&](const Access& access) {
    return whole ? access.data : access.partition(row);
  };
  for (int i = 0; i < kMostSources; ++i) {
    const Access& access = instance.operand(kSources + i);
    if (!access.present()) break;
    const TransferSide side(access);
    std::vector<float>& values = i == 0 ? scratch.first : scratch.second;
    load_region({data(access), dimensions(side)}, access.dtype, values);
    if (i == 0) continue;
    for (size_t j = 0; j < values.size(); ++j) scratch.first[j] += values[j];
  }
  const Access& dst = instance.operand(kDst);
  const TransferSide side(dst);
  store_region(scratch.first, {data(dst), dimensions(side)}, dst.dtype);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const int32_t* rows = dst.rows;
  for (int i = 0; i < 2 && rows == nullptr; ++i) rows = instance.operand(kSources + i).rows;
  if (rows == nullptr) return sum_region(instance, 0, true);
  if (dst.rows != nullptr) require_unique_rows(kName, {rows, static_cast<size_t>(dst.partitions)});
  for (int64_t p = 0; p < dst.partitions; ++p) {
    if (rows[p] >= 0) sum_region(instance, p, false);
  }
}

/// The descriptors of a copy from each source; elements of their mean size.
Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const int sources = source_count(draft);
  // Each source is read at the throughput of a copy. With two this is the 50 % that is documented
  // for adding one tensor to another (dma.compute), which counts the bytes of one.
  Step total{.unit = Unit::kDma, .descriptors = descriptor_kind(draft)};
  int64_t bytes = 0;
  for (int i = 0; i < sources; ++i) {
    const View& src = draft.operand(kSources + i);
    Step step;
    count_descriptors(dst, src, step);
    const bool in_hbm = dst.memory() == MemoryKind::kHbm && src.memory() == MemoryKind::kHbm;
    if (in_hbm && !is_indirect(draft)) spread_over_engines(architecture, step);
    total.store = total.store || src.memory() == MemoryKind::kSbuf;
    total.elements += step.elements;
    total.fragments = std::max(total.fragments, step.fragments);
    bytes += step.elements * step.bytes;
  }
  const int64_t descriptors = std::max<int64_t>(total.elements, 1);
  total.bytes = (bytes + descriptors - 1) / descriptors;
  Demand demand;
  demand.add(total);
  return demand;
}

}  // namespace

Draft DmaCompute::draft() const {
  if (srcs.empty() || srcs.size() > kMostSources) {
    fail(text("'dma_compute' has ", srcs.size(), " sources, but must have 1 to ", kMostSources,
              "."));
  }
  if (!scales.empty() && scales.size() != srcs.size()) {
    fail(text("'dma_compute' has ", scales.size(), " scales for ", srcs.size(), " sources."));
  }
  const auto other = std::find_if(scales.begin(), scales.end(), [](double s) { return s != 1; });
  const double scale = other == scales.end() ? 1 : *other;
  Draft draft = draft_of(kDmaCompute, *this);
  draft.attributes[kScale] = Attribute::of(scale);
  std::copy(srcs.begin(), srcs.end(), draft.operands.begin() + kSources);
  return draft;
}

const InstructionType kDmaCompute = {kName,  kOperands, kAttributes, choose_engine,
                                     check,  run,       demand,      Synchronisation::kNone,
                                     kIndex, kOobSkip};

}  // namespace neuron_sim
