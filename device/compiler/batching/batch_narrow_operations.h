#pragma once
// batch_narrow_operations: narrow results of a loop's iterations are computed side by side.
//
// Known (statement names in the four public attention traces, neuronx-cc 2.23): the negated row
// maximum, the row sum and its reciprocal, one element wide per query tile, are one instruction for
// all query tiles, 12 of 12; the loop is split before and after it. Nothing 512 wide is batched
// further, so 512 elements are the bound. That wider results are batched too, when the whole loop
// stays within the bound, follows from two steps of a public depthwise convolution (autocomp, trn1)
// that differ in nothing but the loop over 2048 outputs, written as 32 times 64 in one of them: 64
// windows of 3 elements become one instruction, 2048 do not. The traces have no loops whose tiles
// do not all fit SBUF or the 8 banks of PSUM. It is assumed that they are unchanged: this matches
// totals of attention over 4096 rows on generation 2 better (3 of 3) than blocks that fit.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Elements per partition of a batched instruction of the compute engines (measured).
inline constexpr int64_t kBatchElements = 512;

/// Batches statements of the Vector, Scalar and GpSimd engines over their innermost loop
/// (batch_statements.h), all iterations or none, when they are at most kBatchElements of
/// the widest operand together.
void batch_narrow_operations(StraightLine& line);

}  // namespace neuron_sim
