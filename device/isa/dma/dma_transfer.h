#pragma once
// Shared by the DMA instructions: which descriptors can be made, how many of them a transfer needs,
// and both sides of it as nested dimensions.

#include <optional>
#include <span>

#include "device/instruction/element_copy.h"
#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// Value of an attribute `descriptors` or `priority` that was not given.
inline constexpr int64_t kDmaAutomatic = -1;

/// Elements of all partitions.
inline int64_t element_count(const View& view) { return view.partitions() * view.free_elements(); }

/// All dimensions of one side, the partition dimension first, strides in bytes.
struct TransferSide {
  std::array<Dimension, kMaximumCopyRank> dimensions{};
  size_t rank = 1;

  explicit TransferSide(const Access& access);
  std::span<const Dimension> all() const { return {dimensions.data(), rank}; }
  std::span<const Dimension> free() const { return all().subspan(1); }
};

/// Copies, with a cast through fp32 when the dtypes differ.
void transfer_elements(const SourceRegion& source, Dtype source_dtype, const TargetRegion& target,
                       Dtype target_dtype);

/// All values of one side, widened to fp32, in row-major order; and back, rounded once.
void load_region(const SourceRegion& source, Dtype dtype, std::vector<float>& values);
void store_region(const std::vector<float>& values, const TargetRegion& target, Dtype dtype);

/// Run time: a KernelError when two rows that are not skipped (-1) are equal.
void require_unique_rows(std::string_view instruction, std::span<const int32_t> rows);

/// The dimensions of a view as descriptors see them: partitions of SBUF and indexed rows are never
/// adjacent in memory. Returns how many there are.
size_t descriptor_dimensions(const View& view, std::span<Dimension> dimensions);

/// Descriptors, their bytes and fragments, of a transfer that visits both sides in row-major order.
/// One descriptor moves the longest run that is contiguous on both sides; where that is a single
/// element, one descriptor moves the innermost dimension element by element.
void count_descriptors(std::span<const Dimension> to, Dtype target_dtype,
                       std::span<const Dimension> from, Dtype source_dtype, Step& step);
/// Counts descriptors between two views, the words of HBM that are written in part, and the bytes
/// that are read in a row for a partition.
void count_descriptors(const View& dst, const View& src, Step& step);

/// A transfer within HBM has no partitions to spread over the DMA engines: long runs are cut so
/// that every engine gets one, in pieces of at least 512 bytes (below that the fixed time per
/// descriptor dominates; nki-dma-bandwidth-guide). Assumed.
void spread_over_engines(const Architecture& architecture, Step& step);

/// What a transfer requires of its descriptors.
struct DescriptorNeeds {
  bool indirect = false;          ///< follows an index tile
  bool casts = false;             ///< dtypes differ
  bool computes = false;          ///< adds in the DMA engines
  bool register_address = false;  ///< an address is known only at run time
};

/// Empty when `engine` can make descriptors of this kind, else the reason why not.
std::string_view descriptor_objection(DescriptorKind kind, const DescriptorNeeds& needs,
                                      EngineKind engine, const Architecture& architecture);

/// The engine that triggers a transfer when none is given: GpSimd for software descriptors, which
/// an index, a cast or (where hardware descriptors cannot hold it) a register address need, else
/// Sync.
EngineKind choose_dma_engine(int64_t descriptors, const DescriptorNeeds& needs,
                             const Architecture& architecture);
/// The kind of descriptors when none is given.
DescriptorKind choose_descriptors(int64_t descriptors, const DescriptorNeeds& needs,
                                  EngineKind engine, const Architecture& architecture);

namespace checks {

/// Any engine can trigger a transfer.
void dma_engine(std::string_view instruction, EngineKind engine, const Architecture& architecture);
/// HBM or SBUF; at most limits.partitions partitions in SBUF.
void dma_operand(std::string_view instruction, std::string_view operand, const View& view,
                 const Architecture& architecture);
/// The DMA engines cannot cast packed dtypes.
void dma_cast(std::string_view instruction, const View& dst, const View& src);
/// A written operand repeats no element.
void not_broadcast(std::string_view instruction, std::string_view operand, const View& view);
/// Quality of service 0 (highest) to 3, where features.dma_priority; not with static descriptors.
void dma_priority(std::string_view instruction, int64_t priority, DescriptorKind kind,
                  const Architecture& architecture);

}  // namespace checks

}  // namespace neuron_sim
