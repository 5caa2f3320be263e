#pragma once
// dma_compute: a sum that the DMA engines form while they move the data.

#include <optional>
#include <vector>

#include "device/instruction/instruction_type.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = srcs[0] + srcs[1] + ... by the DMA engines, in fp32, rounded once to dst.
///
/// One to sixteen sources in HBM or SBUF of the element count of dst (row-major order, shapes and
/// strides free), any dtypes but packed ones; the additions run from the first source to the last.
/// `reduce_op` must be add, `scales` empty or one 1.0 per source.
///
/// `index`, [P, 1] int32 or uint32 in SBUF: read-modify-write of indexed rows with exactly two
/// sources. Scatter: dst is an indirect HBM view, one source is the same view, the other is in
/// SBUF. Gather: dst is in SBUF, one source is the same view, the other is an indirect HBM view.
/// All have P rows. A row of a scatter that occurs twice is a KernelError (`unique_indices` must be
/// true); with `oob_skip` a row out of range is left alone, without it the executor raises
/// IndexError.
///
/// Software descriptors (engine GpSimd) for an index, else static ones (any engine); every source
/// is read at dma.compute of the throughput of a copy.
struct DmaCompute {
  View dst;
  std::vector<View> srcs;
  AluOp reduce_op = AluOp::kAdd;
  std::vector<double> scales{};
  bool unique_indices = true;
  bool oob_skip = false;
  View index{};
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

extern const InstructionType kDmaCompute;

}  // namespace neuron_sim
