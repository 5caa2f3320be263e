#pragma once
// Short forms for tests of programs of two cores.

#include <string>
#include <vector>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/dma/sendrecv.h"
#include "device/isa/sequencing/core_barrier.h"

namespace neuron_sim {

/// The exchange of `core` on a pipe.
inline SendRecv exchange_of(int core, const View& dst, const View& src, int64_t pipe_id = 0,
                            DmaEngine dma_engine = DmaEngine::kDma) {
  return {.src = src,
          .dst = dst,
          .send_to_rank = 1 - core,
          .recv_from_rank = 1 - core,
          .pipe_id = pipe_id,
          .dma_engine = dma_engine};
}

/// The sentence of the KernelError that finishing gives, "" when there is none.
inline std::string finish_error(Builder& builder) {
  try {
    builder.finish();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

}  // namespace neuron_sim
