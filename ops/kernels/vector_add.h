#pragma once
// vector_add: out = a + b, element by element.
//
// Algorithm: load, add on Vector (int32: exact on GpSimd), store. Variants, as in the course
// handout:
//   naive   one tile of [elements, 1]; at most 128 elements;
//   tiled   a loop over tiles of [row_chunk, 1]: every partition moves one element per DMA;
//   stream  a loop over tiles of [128, free_dim], so that a descriptor moves a long run.
// All variants keep rings of tiles, so that loads (queue of Sync), additions and stores (queue of
// Scalar) of different tiles overlap. Tensors that are not contiguous are walked with the strided
// plan of strided_add.cpp (stream only): a suffix of dimensions is free, the longest other
// dimension lies on partitions, the rest are loops; dimensions of stride 0 are loaded once and
// repeated by the access pattern of the addition.
//
// Roofline: DMA, 3 * elements * itemsize bytes at the bandwidth of the 16 engines; Vector needs 2
// cycles per 128 fp32 elements, less than their 1.5 KiB of traffic.

#include "device/program/builder.h"
#include "ops/tensor_spec.h"

namespace neuron_sim {

enum class VectorAddVariant { kNaive, kTiled, kStream };

struct VectorAddOptions {
  VectorAddVariant variant = VectorAddVariant::kStream;
  int64_t row_chunk = 128;  ///< tiled: partitions per tile, at most limits.partitions
  int64_t free_dim = 0;     ///< stream: elements per partition and tile; 0 chooses
};

/// Equal shapes (the caller broadcasts by strides of 0) and dtypes: fp32, fp16, bf16 (computed in
/// fp32, rounded once), int32, int16, int8, uint8 (exact modulo 2^bits). The output is dense.
/// KernelError for other dtypes, different shapes and more partitions than a variant takes.
BuiltOp build_vector_add(const Architecture& architecture, const TensorSpec& a, const TensorSpec& b,
                         const VectorAddOptions& options = {});

}  // namespace neuron_sim
