#include "device/timeline/timing.h"

namespace neuron_sim {

double Timing::utilisation(EngineKind engine) const {
  if (body.count == 0) return 0;
  return static_cast<double>(busy[static_cast<size_t>(engine)].count) /
         static_cast<double>(body.count);
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
