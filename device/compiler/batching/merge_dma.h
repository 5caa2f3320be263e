#pragma once
// merge_dma: adjacent transfers of one statement become one.
//
// Known (statement names and descriptors in the four public attention traces, neuronx-cc 2.23): two
// tiles of [128, 512] float32 are one transfer of 4 KiB per partition and 512 KiB, although four
// were available (16 of 16), and four output tiles of [128, 128] float32 or bfloat16 are one store
// (4 of 4). Whether 4 KiB, 512 KiB or the number of remaining transfers is the bound cannot be
// determined; rows shorter than 256 bytes are in no merged transfer. The traces have no loop over
// loads of inputs: that they are merged as well rests on the name of a pass in the compiler's
// public logs, input_dma_coalescing, and on totals of matrix products in bfloat16.

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/pass_settings.h"

namespace neuron_sim {

/// Bounds of a merged transfer (measured).
inline constexpr int64_t kMergedBytesPerPartition = 4096;
inline constexpr int64_t kMergedBytes = 524'288;
/// Smallest HBM row, in bytes, that transfers are merged for (the smallest that were).
inline constexpr int64_t kMergedRow = 256;

/// Merges transfers between HBM and SBUF of one statement over its innermost loop
/// (batch_statements.h) when they are evenly spaced in HBM: loads move to the first of them, stores
/// to the last, within these bounds. Loads of arguments only with
/// `merge_input_loads`.
void merge_dma(StraightLine& line, const PassSettings& settings);

}  // namespace neuron_sim
