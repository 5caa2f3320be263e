#pragma once
// infer_psum_tensors: a result of Scalar that the next instruction on Vector adds to, or multiplies
// with, a tile of SBUF lies in PSUM.
//
// Known: InferPSumTensor is among the compiler's passes (names in its public logs). The profile of
// NKIBench's adamw (zhang677/AccelOpt at 47e29a7c, experiments/full_complete_local/
// profile_results.csv; generation 2) counts psum_write_bytes of three results of 512 float32
// elements in each of its 344 iterations, and the kernel has no product and no tile in PSUM. Its
// counters leave instructions of two tensors out, as those of silu and mamba in the same file do.
// Inferred: which results these are. Three of adamw's results of Scalar are read by the next
// instruction, a tensor_tensor, and by nothing else; silu and mamba have none, and their counters
// no such bytes. Off in every published stack, because one measured kernel alone depends on it
// (docs/choices.md). The use: Vector reads two tiles of SBUF at half the rate of one in either
// memory (docs/hardware_facts.md#tensor_tensor).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Moves the SBUF tiles of at most one bank that an activation on Scalar fills, and nothing but the
/// tensor_tensor right after it on Vector reads, to PSUM, where that is faster for Vector and a
/// bank is free. Tiles that were placed by hand stay. Needs single-assignment versions
/// (rename_buffers.h).
void infer_psum_tensors(StraightLine& line);

}  // namespace neuron_sim
