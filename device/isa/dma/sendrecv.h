#pragma once
// sendrecv: the two cores of a logical core exchange SBUF tiles.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// The DMA that moves the bytes of a sendrecv.
enum class DmaEngine : uint8_t {
  kDma,        ///< the 16 DMA engines of each core
  kGpSimdDma,  ///< the DMA of GpSimd itself: small tiles, lower latency
};

/// dst = src of the other core, and the other core's dst = src, at once and bit by bit.
///
/// src and dst lie in SBUF and have the same shape and dtype, on both cores; on one core they do
/// not overlap. `send_to_rank` and `recv_from_rank` are the other core (0 or 1). The n-th
/// synchronisation of core 0 meets the n-th of core 1, with the same `pipe_id` and `dma_engine`,
/// else the kernel deadlocks or cannot be built (KernelError). Both directions complete together.
///
/// kDma: `engine` (EngineKind::kAuto: Sync) triggers the transfer and continues; its queue waits
/// for the other core. kGpSimdDma: GpSimd waits and moves the tile itself, at most 256 elements per
/// partition (limits.gpsimd_dma_elements). From NeuronCore-v3 on, with LNC2. The time of the DMA
/// engines is that of dma_copy, all else is assumed (Architecture::peer).
struct SendRecv {
  View src, dst;
  int64_t send_to_rank = 0, recv_from_rank = 0;
  int64_t pipe_id = 0;
  DmaEngine dma_engine = DmaEngine::kDma;
  EngineKind engine = EngineKind::kAuto;

  enum OperandIndex { kDst, kSrc };
  enum AttributeIndex { kSendToRank, kRecvFromRank, kPipeId, kDmaEngine };
  static constexpr auto fields() {
    using T = SendRecv;
    return std::tuple{operand<kSrc>("src", Direction::kRead, &T::src),
                      operand<kDst>("dst", Direction::kWrite, &T::dst),
                      attribute<kSendToRank>("send_to_rank", &T::send_to_rank).required(),
                      attribute<kRecvFromRank>("recv_from_rank", &T::recv_from_rank).required(),
                      attribute<kPipeId>("pipe_id", &T::pipe_id),
                      attribute<kDmaEngine>("dma_engine", &T::dma_engine),
                      engine_of(&T::engine)};
  }
  Draft draft() const;
};

extern const InstructionType kSendRecv;

}  // namespace neuron_sim
