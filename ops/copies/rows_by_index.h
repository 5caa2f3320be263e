#pragma once
// Rows of a table selected by indices: the building block of embedding, index_select, gather,
// scatter and their gradients.
//
// Algorithm: 128 indices at a time are loaded, one per partition, and the DMA engines follow them:
// a gather loads rows into SBUF, from where they are stored; a scatter loads rows and writes, or
// adds, them where their indices point.
//
// Roofline: DMA, the bytes of the rows, with a descriptor (of at least 64 bytes' time) per row.

#include <array>

#include "ops/contract/fusion_traits.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

/// result[i, :] = table[indices[i], :] for operands table [R, L] and indices [N] (int32), result
/// [N, L] of the table's dtype. An index outside [0, R) is an IndexError when the kernel runs.
void emit_gather_rows(Builder& builder, HbmTensors operands, HbmTensors results);
inline constexpr KernelDefinition<NoOptions> kGatherRows{.name = "gather_rows",
                                                         .emit = without_options<emit_gather_rows>,
                                                         .traits = batched<false, true>};

struct ScatterOptions {
  bool add = false;
  static constexpr std::array kFields{"add"};
};

/// table[indices[i], :] = source[i, :], or += with `add` (in fp32, rounded after each addition),
/// one index after the other, for operands indices and source and the table as the result. Shapes
/// as above; other rows of the table are unchanged.
void emit_scatter_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                       const ScatterOptions& options);
inline constexpr KernelDefinition<ScatterOptions> kScatterRows{.name = "scatter_rows",
                                                               .emit = emit_scatter_rows};

}  // namespace neuron_sim
