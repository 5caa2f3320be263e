#pragma once
// Which passes run and how: one set per published software stack, never one per kernel.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace neuron_sim {

/// One switch or number per pass; everything is off by default. What is known of each pass and how
/// (statement names, traces, documents) stands in the header of its file.
struct PassSettings {
  /// On-chip tiles become single-assignment versions (rename_buffers.h).
  bool rename_buffers = false;
  /// Versions of one SBUF tile that exist at a time, at most; 0: as many as SBUF holds. A window
  /// of 16 was seen in one kernel total only and may be a limit of semaphores: hypothesis.
  int64_t buffers_per_tile = 0;
  /// Large tiles get their places in SBUF first when tiles do not fit otherwise (rotate_sbuf).
  bool place_large_first = false;
  /// Loads of what the program itself stored become copies in SBUF (forward_stores.h).
  bool forward_stores = false;
  /// Loads of bytes that an earlier tile holds disappear (reuse_loads.h).
  bool reuse_loads = false;
  /// Innermost loops over which a load may be kept; 0: any, and across statements.
  int64_t reuse_loops = 0;
  /// Programs of at most so many instances keep loads over any loops, whatever `reuse_loops` says.
  /// Hypothesis: the compiler unrolls small programs whole and leaves large ones in loops; of the
  /// public matrix products, those of 5,000 instances are met with kept tiles and those of 50,000
  /// without.
  int64_t reuse_instances = 0;
  /// Computations that do not change in their loop happen once (hoist_invariants.h).
  bool hoist_invariants = false;
  /// Memsets of sums in PSUM disappear: the first product overwrites (fold_zeros.h).
  bool fold_zeros = false;
  /// Copies out of PSUM that only Vector and Scalar read disappear (elide_psum_copies.h).
  bool elide_psum_copies = false;
  /// Copies within SBUF disappear too (elide_psum_copies.h).
  bool eliminate_copies = false;
  /// Memsets whose bytes are all overwritten disappear (eliminate_dead_stores.h).
  bool eliminate_dead_stores = false;
  /// A cast on the way to HBM moves into the copy before it (fold_casts.h).
  bool fold_casts = false;
  /// Results of one element per partition are batched (batch_narrow_operations.h).
  bool batch_narrow_operations = false;
  /// Iterations that batching splits together, at most; 0: as many as fit. Not known for loops
  /// longer than four iterations.
  int64_t batch_iterations = 0;
  /// Loops of products that add to PSUM are split from what is around them (split_sums.h).
  bool split_sums = false;
  /// Transposes share a bank of PSUM and a copy (batch_transposes.h).
  bool batch_transposes = false;
  /// Adjacent transfers become one (merge_dma.h).
  bool merge_dma = false;
  /// The same for loads of the kernel's inputs: inferred (merge_dma.h).
  bool merge_input_loads = false;
  /// Bounds of a merged transfer; 0: kMergedBytesPerPartition, kMergedBytes (merge_dma.h).
  int64_t dma_bytes_per_partition = 0;
  int64_t dma_bytes = 0;
  /// Triggers move to the queues that the compiler uses (assign_queues.h).
  bool assign_queues = false;
  /// The flag --disable-dge: descriptors are prepared by the compiler, none are generated.
  bool disable_dge = false;
  /// Transfers of which the kernel names the engine stay on it.
  bool keep_explicit_queues = false;
  /// List scheduling of the unrolled program; allocates PSUM banks (schedule.h).
  bool schedule = false;
  /// Copies out of PSUM whose engine the kernel leaves open run on Scalar or Vector, whichever is
  /// free first.
  bool choose_copy_engines = false;
  /// An accumulation group is finished before the next one of its statement starts.
  bool keep_groups_together = false;
  /// Loads that wait for nothing come first, in the order of their first readers.
  bool hoist_loads = false;

  bool operator==(const PassSettings&) const = default;
};

/// A field of PassSettings by its name: either a switch or a number.
struct SettingField {
  const char* name;
  bool PassSettings::*flag = nullptr;
  int64_t PassSettings::*number = nullptr;
};
/// All fields in the order of the struct.
std::span<const SettingField> setting_fields();

/// Sets a field by its name; numbers must not be negative, switches are 0 or 1. KernelError names
/// the field and, for an unknown one, all there are.
void set(PassSettings& settings, std::string_view field, int64_t value);

/// "rename_buffers, buffers_per_tile=16, schedule": what is not at its zero value; "none".
std::string describe(const PassSettings& settings);

/// A published software stack: what kernels of public measurements were compiled with.
struct PublishedStack {
  const char* name;      ///< "neuronx-cc trn2 --disable-dge"
  const char* compiler;  ///< versions that it stands for
  const char* source;    ///< what its settings rest on
  PassSettings settings;
};
/// All stacks; "none" is the kernel as it is written. " direct" ones are for kernels that skip the
/// compiler's middle end (direct allocation, skip_middle_end_transformations).
std::span<const PublishedStack> published_stacks();
/// The stack of that name; KernelError lists all names.
const PublishedStack& published_stack(std::string_view name);

}  // namespace neuron_sim
