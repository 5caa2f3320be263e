#include "device/isa/dma_copy.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "device/base/errors.h"
#include "device/isa/checks.h"
#include "device/isa/element_copy.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "dma_copy";
enum OperandIndex { kDst, kSrc, kIndex };
enum AttributeIndex { kDescriptors, kOobSkip };
constexpr int64_t kAutomatic = -1;  ///< value of the attribute `descriptors` that is left to us

constexpr OperandField kOperands[] = {
    {"dst", Direction::kWrite}, {"src", Direction::kRead}, {"index", Direction::kRead, true}};
constexpr AttributeField kAttributes[] = {{"descriptors", AttributeKind::kDescriptor},
                                          {"oob_skip", AttributeKind::kFlag}};

bool casts(const Draft& draft) {
  return draft.operand(kDst).dtype() != draft.operand(kSrc).dtype();
}

bool has_register_address(const Draft& draft) {
  return draft.operand(kDst).register_index() >= 0 || draft.operand(kSrc).register_index() >= 0;
}

EngineKind choose_engine(const Draft& draft, const Architecture& architecture) {
  const int64_t wanted = draft.attribute(kDescriptors).integer();
  if (wanted != kAutomatic) {
    return draft.attribute(kDescriptors).as<DescriptorKind>() == DescriptorKind::kSoftware
               ? EngineKind::kGpSimd
               : EngineKind::kSync;
  }
  const bool software =
      draft.operand(kIndex).present() || casts(draft) ||
      (has_register_address(draft) && !architecture.features.hardware_descriptors);
  return software ? EngineKind::kGpSimd : EngineKind::kSync;
}

DescriptorKind descriptor_kind(const Draft& draft, const Architecture& architecture) {
  if (draft.attribute(kDescriptors).integer() != kAutomatic) {
    return draft.attribute(kDescriptors).as<DescriptorKind>();
  }
  if (draft.engine == EngineKind::kGpSimd || draft.operand(kIndex).present() || casts(draft)) {
    return DescriptorKind::kSoftware;
  }
  const bool hardware_queue =
      draft.engine == EngineKind::kSync || draft.engine == EngineKind::kScalar;
  return architecture.features.hardware_descriptors && hardware_queue ? DescriptorKind::kHardware
                                                                      : DescriptorKind::kStatic;
}

int64_t element_count(const View& view) { return view.partitions() * view.free_elements(); }

/// Empty when dma_copy can make descriptors of this kind for the draft.
std::string_view objection(const Draft& draft, DescriptorKind kind,
                           const Architecture& architecture) {
  const bool indirect = draft.operand(kIndex).present();
  switch (kind) {
    case DescriptorKind::kSoftware:
      if (draft.engine != EngineKind::kGpSimd) return "software descriptors need engine GpSimd";
      return "";
    case DescriptorKind::kHardware:
      if (!architecture.features.hardware_descriptors) return "it has no hardware descriptors";
      if (draft.engine != EngineKind::kSync && draft.engine != EngineKind::kScalar) {
        return "hardware descriptors need engine Sync or Scalar";
      }
      if (casts(draft)) return "hardware descriptors need equal dtypes";
      return indirect ? "hardware descriptors cannot follow an index" : "";
    case DescriptorKind::kStatic:
      if (indirect) return "static descriptors cannot follow an index";
      return has_register_address(draft) ? "static descriptors cannot hold a register address" : "";
  }
  return "the kind of descriptors is unknown";
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
  checks::engine(kName, draft.engine,
                 {EngineKind::kTensor, EngineKind::kVector, EngineKind::kScalar,
                  EngineKind::kGpSimd, EngineKind::kSync},
                 architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  for (const OperandIndex operand : {kDst, kSrc}) {
    const View& view = draft.operand(operand);
    checks::memory(kName, kOperands[operand].name, view, {MemoryKind::kHbm, MemoryKind::kSbuf});
    if (view.memory() == MemoryKind::kSbuf) {
      checks::partitions(kName, kOperands[operand].name, view, architecture);
    }
  }
  if (element_count(dst) != element_count(src)) {
    fail(text("'dma_copy' needs equal element counts, but dst ", dst.describe(), " has ",
              element_count(dst), " and src ", src.describe(), " has ", element_count(src), "."));
  }
  if (element_count(dst) == 0) fail(text("'dma_copy' of no elements to ", dst.describe(), "."));
  for (int i = 0; i < dst.rank(); ++i) {
    if (dst.size(i) > 1 && dst.dimension(i).stride == 0) {
      fail(text("operand 'dst' of 'dma_copy' repeats dimension ", i, " of ", dst.describe(),
                "; only a source can be broadcast."));
    }
  }
  check_index(draft);
  const DescriptorKind kind = descriptor_kind(draft, architecture);
  const std::string_view reason = objection(draft, kind, architecture);
  if (!reason.empty()) {
    fail(text("'dma_copy' from ", name(src.dtype()), " ", src.describe(), " to ", name(dst.dtype()),
              " ", dst.describe(), " on engine ", name(draft.engine), " of architecture ",
              architecture.name, ": ", reason, "."),
         kind == DescriptorKind::kHardware && !architecture.features.hardware_descriptors
             ? ErrorKind::kNotImplemented
             : ErrorKind::kValue);
  }
}

/// All dimensions of one side, the partition dimension first.
struct Side {
  std::array<Dimension, kMaximumCopyRank> dimensions{};
  size_t rank = 1;

  explicit Side(const Access& access) : rank(static_cast<size_t>(access.rank) + 1) {
    dimensions[0] = {access.partitions, access.partition_stride};
    std::copy_n(access.free.begin(), access.rank, dimensions.begin() + 1);
  }
  std::span<const Dimension> all() const { return {dimensions.data(), rank}; }
  std::span<const Dimension> free() const { return all().subspan(1); }
};

void transfer(const SourceRegion& source, Dtype source_dtype, const TargetRegion& target,
              Dtype target_dtype) {
  if (source_dtype == target_dtype) {
    copy_elements(source, target, itemsize(source_dtype));
  } else {
    convert_elements(source, source_dtype, target, target_dtype);
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  const Side to(dst), from(src);
  if (dst.rows == nullptr && src.rows == nullptr) {
    return transfer({src.data, from.all()}, src.dtype, {dst.data, to.all()}, dst.dtype);
  }
  const int32_t* rows = dst.rows != nullptr ? dst.rows : src.rows;
  for (int64_t p = 0; p < dst.partitions; ++p) {
    if (rows[p] < 0) continue;
    transfer({src.partition(p), from.free()}, src.dtype, {dst.partition(p), to.free()}, dst.dtype);
  }
}

/// Stride that stands for "another partition" or "another indexed row": never adjacent in memory.
constexpr int64_t kApart = int64_t{1} << 40;

/// The dimensions that descriptors see; returns how many.
size_t descriptor_dimensions(const View& view, std::span<Dimension> dimensions) {
  for (int i = 0; i < view.rank(); ++i) dimensions[static_cast<size_t>(i)] = view.dimension(i);
  if (view.memory() != MemoryKind::kHbm || view.is_indirect()) dimensions[0].stride = kApart;
  return static_cast<size_t>(view.rank());
}

/// Descriptors, their bytes and fragments. One descriptor moves the longest run that is contiguous
/// on both sides; where that is a single element, one descriptor moves the innermost dimension
/// element by element.
void count_descriptors(const View& dst, const View& src, Step& step) {
  std::array<Dimension, kMaximumCopyRank> from{}, to{};
  const size_t from_rank = descriptor_dimensions(src, from);
  const size_t to_rank = descriptor_dimensions(dst, to);
  const int64_t total = element_count(dst);
  const int64_t item = std::max(itemsize(src.dtype()), itemsize(dst.dtype()));
  const std::optional<CopyNest> nest = common_nest({from.data(), from_rank}, {to.data(), to_rank});
  int64_t run = 1;
  step.fragments = 1;
  if (!nest) {  // rows that interleave: what divides both of them
    run = std::gcd(from[from_rank - 1].size, to[to_rank - 1].size);
  } else if (nest->count > 0) {
    const CopyAxis& inner = nest->axis(nest->count - 1);
    const bool crosses_partitions =
        std::abs(inner.source_stride) >= kApart || std::abs(inner.target_stride) >= kApart;
    const bool contiguous = inner.source_stride == itemsize(src.dtype()) &&
                            inner.target_stride == itemsize(dst.dtype());
    if (!crosses_partitions) run = inner.size;
    if (!contiguous) step.fragments = run;
  }
  step.elements = total / run;
  step.bytes = run * item;
}

/// A transfer within HBM has no partitions to spread over the DMA engines: long runs are cut so
/// that every engine gets one, in pieces of at least 512 bytes (below that the fixed time per
/// descriptor dominates; nki-dma-bandwidth-guide). Assumed.
void spread_over_engines(const Architecture& architecture, Step& step) {
  constexpr int64_t kSmallestPiece = 512;
  const int64_t engines = architecture.dma.engines;
  if (step.elements >= engines || step.fragments > 1) return;
  const int64_t wanted = (engines + step.elements - 1) / step.elements;
  const int64_t pieces = std::min(wanted, step.bytes / kSmallestPiece);
  if (pieces < 2) return;
  step.elements *= pieces;
  step.bytes = (step.bytes + pieces - 1) / pieces;
}

Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  Step step{.unit = Unit::kDma,
            .descriptors = descriptor_kind(draft, architecture),
            .store = src.memory() == MemoryKind::kSbuf};
  count_descriptors(dst, src, step);
  const bool in_hbm = dst.memory() == MemoryKind::kHbm && src.memory() == MemoryKind::kHbm;
  if (in_hbm && !draft.operand(kIndex).present()) spread_over_engines(architecture, step);
  Demand demand;
  demand.add(step);
  return demand;
}

}  // namespace

Draft DmaCopy::draft() const {
  const int64_t kind = descriptors ? static_cast<int64_t>(*descriptors) : kAutomatic;
  return make_draft(kDmaCopy, engine, {&dst, &src, &index},
                    {Attribute::of(kind), Attribute::of(oob_skip)});
}

const InstructionType kDmaCopy = {kName, kOperands, kAttributes, choose_engine, check, run, demand};

}  // namespace neuron_sim
