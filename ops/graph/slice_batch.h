#pragma once
// Cuts a graph at its batch: stretches of kernels run for one slice of images or tokens after the
// other, so that what they pass on stays in SBUF (forward_stores.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Kernels that run `slices` times in turn, each time all of them for their next part.
struct GraphStretch {
  size_t begin = 0, end = 0;  ///< of the graph's kernels
  int64_t slices = 1;
};

/// The kernel for part `slice` of `slices` equal ones along the dimension in which its first result
/// has the longest stride; empty when its parts depend on each other or it has no such parts.
/// Operands that all parts read whole (weights) stay as they are.
std::optional<GraphKernel> sliced(const GraphKernel& kernel, int64_t slice, int64_t slices);

/// Cuts the kernels of each stretch into its slices.
void run_in_slices(Graph& graph, const std::vector<GraphStretch>& stretches);

/// All kernels in their order, with the slices for which the fewest bytes go through HBM: those of
/// scratch memories that do not fit `room` bytes or leave their stretch, and what kernels read
/// whole, once per slice. A slice more of a kernel counts as `slice_bytes`. One slice of all where
/// everything fits.
std::vector<GraphStretch> slice_batch(const std::vector<GraphKernel>& kernels,
                                      const std::function<bool(size_t memory)>& is_external,
                                      int64_t room, int64_t slice_bytes);

}  // namespace neuron_sim
