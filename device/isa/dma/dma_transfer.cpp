#include "device/isa/dma/dma_transfer.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "device/base/errors.h"
#include "device/instruction/checks.h"

namespace neuron_sim {
namespace {

/// The unit that the HBM memory controller checks and corrects: 64 bits, as in HBM2. Assumed.
constexpr int64_t kHbmWord = 8;

/// Stride that stands for "another partition" or "another indexed row": never adjacent in memory.
constexpr int64_t kApart = int64_t{1} << 40;

int64_t product(std::span<const Dimension> dimensions) {
  int64_t count = 1;
  for (const Dimension& dimension : dimensions) count *= dimension.size;
  return count;
}

}  // namespace

TransferSide::TransferSide(const Access& access) : rank(static_cast<size_t>(access.rank) + 1) {
  dimensions[0] = {access.partitions, access.partition_stride};
  std::copy_n(access.free.begin(), access.rank, dimensions.begin() + 1);
}

void transfer_elements(const SourceRegion& source, Dtype source_dtype, const TargetRegion& target,
                       Dtype target_dtype) {
  if (source_dtype == target_dtype) {
    copy_elements(source, target, itemsize(source_dtype));
  } else {
    convert_elements(source, source_dtype, target, target_dtype);
  }
}

void load_region(const SourceRegion& source, Dtype dtype, std::vector<float>& values) {
  values.resize(static_cast<size_t>(product(source.dimensions)));
  const Dimension dense{static_cast<int64_t>(values.size()), sizeof(float)};
  transfer_elements(source, dtype, {reinterpret_cast<std::byte*>(values.data()), {&dense, 1}},
                    Dtype::kFloat32);
}

void store_region(const std::vector<float>& values, const TargetRegion& target, Dtype dtype) {
  const Dimension dense{static_cast<int64_t>(values.size()), sizeof(float)};
  transfer_elements({reinterpret_cast<const std::byte*>(values.data()), {&dense, 1}},
                    Dtype::kFloat32, target, dtype);
}

void require_unique_rows(std::string_view instruction, std::span<const int32_t> rows) {
  std::vector<std::pair<int32_t, int64_t>> sorted;
  for (size_t p = 0; p < rows.size(); ++p) {
    if (rows[p] >= 0) sorted.emplace_back(rows[p], static_cast<int64_t>(p));
  }
  std::sort(sorted.begin(), sorted.end());
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == sorted.end()) return;
  fail(text("'", instruction, "' adds to row ", twice->first, " for the indices of partitions ",
            twice->second, " and ", (twice + 1)->second, ", but unique_indices is True."));
}

size_t descriptor_dimensions(const View& view, std::span<Dimension> dimensions) {
  for (int i = 0; i < view.rank(); ++i) dimensions[static_cast<size_t>(i)] = view.dimension(i);
  if (view.memory() != MemoryKind::kHbm || view.is_indirect()) dimensions[0].stride = kApart;
  return static_cast<size_t>(view.rank());
}

void count_descriptors(std::span<const Dimension> to, Dtype target_dtype,
                       std::span<const Dimension> from, Dtype source_dtype, Step& step) {
  const int64_t total = product(to);
  const int64_t item = std::max(itemsize(source_dtype), itemsize(target_dtype));
  const std::optional<CopyNest> nest = common_nest(from, to);
  int64_t run = 1;
  step.fragments = 1;
  if (!nest) {  // rows that interleave: their common divisor
    run = std::gcd(from.back().size, to.back().size);
  } else if (nest->count > 0) {
    const CopyAxis& inner = nest->axis(nest->count - 1);
    const bool crosses_partitions =
        std::abs(inner.source_stride) >= kApart || std::abs(inner.target_stride) >= kApart;
    const bool contiguous = inner.source_stride == itemsize(source_dtype) &&
                            inner.target_stride == itemsize(target_dtype);
    if (!crosses_partitions) run = inner.size;
    if (!contiguous) step.fragments = run;
  }
  step.elements = total / run;
  step.bytes = run * item;
}

namespace {

/// Words of HBM that runs shorter than a word write in part; adjacent runs share one. Longer runs
/// count as whole words: no measurement shows the cost of their ends.
int64_t partial_words(std::span<const Dimension> to, Dtype dtype, int64_t elements_of_run) {
  const int64_t run = elements_of_run * itemsize(dtype);
  if (run >= kHbmWord) return 0;
  const int64_t runs = product(to) / elements_of_run;
  int64_t pitch = kApart;
  for (const Dimension& dimension : to) {
    const int64_t stride = std::abs(dimension.stride);
    if (dimension.size > 1 && stride >= run) pitch = std::min(pitch, stride);
  }
  return pitch == run ? (runs * run + kHbmWord - 1) / kHbmWord : runs;
}

/// Bytes that lie in a row in HBM and go to one partition.
int64_t loaded_run(std::span<const Dimension> from, Dtype dtype, int64_t elements_of_partition) {
  const int64_t item = itemsize(dtype);
  int64_t run = 1;
  for (size_t i = from.size(); i-- > 0;) {
    if (from[i].size > 1 && from[i].stride != run * item) break;
    run *= from[i].size;
  }
  return std::min(run, elements_of_partition) * item;
}

}  // namespace

void count_descriptors(const View& dst, const View& src, Step& step) {
  std::array<Dimension, kMaximumCopyRank> from{}, to{};
  const size_t from_rank = descriptor_dimensions(src, from);
  const size_t to_rank = descriptor_dimensions(dst, to);
  count_descriptors({to.data(), to_rank}, dst.dtype(), {from.data(), from_rank}, src.dtype(), step);
  if (src.memory() == MemoryKind::kHbm && dst.memory() == MemoryKind::kSbuf) {
    step.loaded_run = loaded_run({from.data(), from_rank}, src.dtype(), dst.free_elements());
  }
  if (dst.memory() != MemoryKind::kHbm || step.elements == 0) return;
  const int64_t item = std::max(itemsize(src.dtype()), itemsize(dst.dtype()));
  step.partial_words = partial_words({to.data(), to_rank}, dst.dtype(),
                                     step.bytes / item / std::max<int64_t>(step.fragments, 1));
}

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

std::string_view descriptor_objection(DescriptorKind kind, const DescriptorNeeds& needs,
                                      EngineKind engine, const Architecture& architecture) {
  switch (kind) {
    case DescriptorKind::kSoftware:
      return engine == EngineKind::kGpSimd ? "" : "software descriptors need engine GpSimd";
    case DescriptorKind::kHardware:
      if (!architecture.features.hardware_descriptors) return "it has no hardware descriptors";
      if (engine != EngineKind::kSync && engine != EngineKind::kScalar) {
        return "hardware descriptors need engine Sync or Scalar";
      }
      if (needs.casts) return "hardware descriptors need equal dtypes";
      if (needs.computes) return "hardware descriptors cannot compute";
      return needs.indirect ? "hardware descriptors cannot follow an index" : "";
    case DescriptorKind::kStatic:
      if (needs.indirect) return "static descriptors cannot follow an index";
      return needs.register_address ? "static descriptors cannot hold a register address" : "";
  }
  return "the kind of descriptors is unknown";
}

EngineKind choose_dma_engine(int64_t descriptors, const DescriptorNeeds& needs,
                             const Architecture& architecture) {
  if (descriptors != kDmaAutomatic) {
    return static_cast<DescriptorKind>(descriptors) == DescriptorKind::kSoftware
               ? EngineKind::kGpSimd
               : EngineKind::kSync;
  }
  const bool no_hardware = needs.computes || !architecture.features.hardware_descriptors;
  const bool software =
      needs.indirect || (needs.casts && !needs.computes) || (needs.register_address && no_hardware);
  return software ? EngineKind::kGpSimd : EngineKind::kSync;
}

DescriptorKind choose_descriptors(int64_t descriptors, const DescriptorNeeds& needs,
                                  EngineKind engine, const Architecture& architecture) {
  if (descriptors != kDmaAutomatic) return static_cast<DescriptorKind>(descriptors);
  if (engine == EngineKind::kGpSimd || needs.indirect || (needs.casts && !needs.computes)) {
    return DescriptorKind::kSoftware;
  }
  if (needs.computes) return DescriptorKind::kStatic;
  const bool hardware_queue = engine == EngineKind::kSync || engine == EngineKind::kScalar;
  return architecture.features.hardware_descriptors && hardware_queue ? DescriptorKind::kHardware
                                                                      : DescriptorKind::kStatic;
}

namespace checks {

void dma_engine(std::string_view instruction, EngineKind engine_kind,
                const Architecture& architecture) {
  engine(instruction, engine_kind,
         {EngineKind::kTensor, EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd,
          EngineKind::kSync},
         architecture);
}

void dma_operand(std::string_view instruction, std::string_view operand, const View& view,
                 const Architecture& architecture) {
  memory(instruction, operand, view, {MemoryKind::kHbm, MemoryKind::kSbuf});
  if (view.memory() == MemoryKind::kSbuf) partitions(instruction, operand, view, architecture);
}

void dma_cast(std::string_view instruction, const View& dst, const View& src) {
  if (dst.dtype() == src.dtype() || (!is_packed(dst.dtype()) && !is_packed(src.dtype()))) return;
  fail(text("'", instruction, "' cannot cast ", name(src.dtype()), " ", src.describe(), " to ",
            name(dst.dtype()), " ", dst.describe(), "; packed dtypes are only copied."),
       ErrorKind::kType);
}

void not_broadcast(std::string_view instruction, std::string_view operand, const View& view) {
  for (int i = 0; i < view.rank(); ++i) {
    if (view.size(i) <= 1 || view.dimension(i).stride != 0) continue;
    fail(text("operand '", operand, "' of '", instruction, "' repeats dimension ", i, " of ",
              view.describe(), "; only a source can be broadcast."));
  }
}

void dma_priority(std::string_view instruction, int64_t priority, DescriptorKind kind,
                  const Architecture& architecture) {
  constexpr int64_t kLowestPriority = 3;
  if (priority == kDmaAutomatic) return;
  const std::string where =
      text(" (instruction '", instruction, "', architecture ", architecture.name, ")");
  if (!architecture.features.dma_priority) {
    fail(text("parameter 'priority' needs NeuronCore-v4 or newer.", where),
         ErrorKind::kNotImplemented);
  }
  if (priority < 0 || priority > kLowestPriority) {
    fail(text("parameter 'priority' is ", priority, ", but must be 0 to ", kLowestPriority, ".",
              where));
  }
  if (kind == DescriptorKind::kStatic) {
    fail(text("parameter 'priority' is not supported with static descriptors.", where));
  }
}

}  // namespace checks

}  // namespace neuron_sim
