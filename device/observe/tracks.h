#pragma once
// Which track of a viewer shows what of a recording. Slices of a track follow each other or nest,
// as viewers drop those that overlap.

#include <string>
#include <vector>

#include "device/observe/queue_name.h"
#include "device/observe/recording.h"

namespace neuron_sim {

/// Kinds of tracks, in the order of the screen.
enum class TrackKind : uint8_t {
  kEngine,  ///< steps of an engine
  kWaits,   ///< from when an engine could take an instance until it did
  kQueue,   ///< transfers of a DMA queue
  kRing,    ///< a queue's part of one DMA engine
  kCollectives,
};

/// A track. A queue whose transfers run at the same time has several, one per lane.
struct Track {
  uint8_t core = 0;
  TrackKind kind{};
  EngineKind engine{};  ///< or the queue's
  QueueKind queue{};    ///< of queues and rings
  int16_t part = 0;     ///< of Tensor: 0 loads, 1 multiplies; of a ring: its DMA engine
  int32_t lane = 0;
  std::string name;   ///< "Tensor (multiply moving)", "qSyncIO0, 2", "qSyncIO0, ring 3"
  std::string group;  ///< "Tensor", "qSyncIO0", "Collectives"
};

/// Tracks in the order of the screen, and where things are on them.
struct TrackLayout {
  std::vector<Track> tracks;
  std::vector<uint32_t> of_event;     ///< by event; EVENT_SEMAPHOREs are on the waits' track
  std::vector<uint32_t> of_instance;  ///< by instance that waited: its wait; kNoIndex for others
  std::vector<uint32_t> of_share;     ///< by share
};

TrackLayout lay_out(const Recording& recording);

}  // namespace neuron_sim
