#pragma once
// What collectives ran between the processes of a group, and when: for programs that want to know.

#include <cstdint>
#include <string>
#include <vector>

#include "csrc/runtime/export.h"
#include "device/base/units.h"

namespace neuron_sim {

/// One collective, send or receive as this process took part in it.
struct CollectiveRecord {
  std::string call;            ///< "allreduce(SUM) of float32 [3, 4]"
  int device = 0;              ///< of this process
  int ranks = 0;               ///< of the group; 2 for send and recv
  Bytes bytes{};               ///< the buffer that the cost model counts, see GroupOperation
  const char* algorithm{};     ///< "mesh", "ring", ...
  Picoseconds ready{};         ///< this rank's tensors were ready and its processors free
  Picoseconds start{}, end{};  ///< the last rank was ready; the same for all ranks
};

/// From now on keeps every collective of this process until finished; several may be active.
NEURON_SIM_TORCH_API int64_t start_collective_recording();
/// Ends a recording and returns its collectives in order; none when there is no such recording.
NEURON_SIM_TORCH_API std::vector<CollectiveRecord> finish_collective_recording(int64_t recording);
/// Adds one to all active recordings.
void record_collective(const CollectiveRecord& record);

}  // namespace neuron_sim
