#pragma once
// Tiles for tensor_tensor: dst = data1 op data2.

#include <string>
#include <vector>

#include "device/isa/elementwise/tensor_tensor.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {

using TensorTensorTiles = InstructionTiles<TensorTensor>;

/// Dense tiles of one shape and dtype, with dst in SBUF.
inline TensorTensorTiles dense_tiles(Dtype dtype, std::vector<int64_t> shape,
                                     MemoryKind memory1 = kSbuf, MemoryKind memory2 = kSbuf) {
  TensorTensorTiles tiles;
  tiles.instruction.dst = tiles.bench.tile(kSbuf, dtype, shape, "dst");
  tiles.instruction.data1 = tiles.bench.tile(memory1, dtype, shape, "a");
  tiles.instruction.data2 = tiles.bench.tile(memory2, dtype, shape, "b");
  return tiles;
}

}  // namespace neuron_sim
