#include "device/timeline/timing.h"

#include <algorithm>

namespace neuron_sim {

void Timing::add_core(const Timing& core) {
  body = std::max(body, core.body);
  for (size_t i = 0; i < kEngineCount; ++i) {
    busy[i] += core.busy[i];
    instructions[i] += core.instructions[i];
  }
  dma_busy += core.dma_busy;
  dma_engines += core.dma_engines;
  dma_transfers += core.dma_transfers;
  dma_bytes += core.dma_bytes;
  instances += core.instances;
  skipped_instances += core.skipped_instances;
  widened_accesses += core.widened_accesses;
  multiply_accumulates += core.multiply_accumulates;
  cores.insert(cores.end(), core.cores.begin(), core.cores.end());
}

double Timing::utilisation(EngineKind engine) const {
  if (body.count == 0) return 0;
  const auto engines = static_cast<double>(std::max<size_t>(cores.size(), 1));
  return static_cast<double>(busy[static_cast<size_t>(engine)].count) /
         (static_cast<double>(body.count) * engines);
}

double Timing::dma_utilisation() const {
  if (body.count == 0 || dma_engines == 0) return 0;
  return static_cast<double>(dma_busy.count) /
         (static_cast<double>(body.count) * static_cast<double>(dma_engines));
}

std::string Timing::bottleneck() const {
  // Below this share no unit limits the program: its instructions wait for each other.
  double most = 0.5;
  std::string result = "latency";
  for (int engine = 0; engine < kEngineCount; ++engine) {
    const double share = utilisation(static_cast<EngineKind>(engine));
    if (share >= most) {
      most = share;
      result = name(static_cast<EngineKind>(engine));
    }
  }
  return dma_utilisation() >= most ? "DMA" : result;
}

}  // namespace neuron_sim
