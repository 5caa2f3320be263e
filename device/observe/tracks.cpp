#include "device/observe/tracks.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// What tells tracks apart, as one number: core, whether it is of the DMA, engine, kind of queue,
/// kind, part, lane. Numbers rise in the order of the screen.
using Key = uint64_t;
constexpr Key kNoTrack = UINT64_MAX;

Key key_of(uint8_t core, EngineKind engine, TrackKind kind, int64_t part = 0,
           QueueKind queue = {}) {
  const bool dma =
      kind == TrackKind::kQueue || kind == TrackKind::kRing || kind == TrackKind::kCollectives;
  uint64_t row = uint64_t{core} * 2 + (dma ? 1 : 0);
  for (const auto field :
       {static_cast<uint64_t>(engine), static_cast<uint64_t>(queue), static_cast<uint64_t>(kind)}) {
    row = row * 8 + field;
  }
  return (row << 48U) | (static_cast<uint64_t>(part) << 32U);
}

Key key_of(const Program& program, const StepEvent& event) {
  if (event.kind == EventKind::kTransfer) {
    if (event.unit != Unit::kCollective) {
      const QueueKind queue = queue_kind(program, program.instructions[event.instruction]);
      return key_of(event.core, event.engine, TrackKind::kQueue, 0, queue);
    }
    return key_of(event.core, EngineKind::kAuto, TrackKind::kCollectives);
  }
  if (event.kind == EventKind::kWait) return key_of(event.core, event.engine, TrackKind::kWaits);
  const bool load = event.kind == EventKind::kStep && event.unit == Unit::kLoadStationary;
  const bool second = event.engine == EngineKind::kTensor && !load;
  return key_of(event.core, event.engine, TrackKind::kEngine, second ? 1 : 0);
}

std::string name_of(const Track& track) {
  const char* const engine = name(track.engine);
  switch (track.kind) {
    case TrackKind::kEngine:
      if (track.engine != EngineKind::kTensor) return engine;
      return track.part == 0 ? "Tensor (load stationary)" : "Tensor (multiply moving)";
    case TrackKind::kWaits: return text(engine, " waits");
    case TrackKind::kQueue: return queue_name(track.engine, track.queue);
    case TrackKind::kRing:
      return text(queue_name(track.engine, track.queue), ", ring ", track.part);
    case TrackKind::kCollectives: return "Collectives";
  }
  return "";
}

Track track_of(Key key) {
  const uint64_t row = key >> 48U;
  Track track;
  track.core = static_cast<uint8_t>(row / 1024);
  const bool dma = row / 512 % 2 == 1;
  track.engine = static_cast<EngineKind>(row / 64 % 8);
  track.queue = static_cast<QueueKind>(row / 8 % 8);
  track.kind = static_cast<TrackKind>(row % 8);
  track.part = static_cast<int16_t>(key >> 32U & 0xFFFFU);
  track.lane = static_cast<int32_t>(key & 0xFFFFFFFFU);
  track.name = name_of(track);
  if (track.lane > 0) track.name += text(", ", track.lane + 1);
  track.group = track.kind == TrackKind::kCollectives ? "Collectives"
                : dma                                 ? queue_name(track.engine, track.queue)
                                                      : name(track.engine);
  return track;
}

/// Gives every event of a track the first lane that is free at its start.
void spread(const Recording& recording, std::vector<Key>& keys) {
  std::vector<uint32_t> by_start(recording.events.size());
  std::iota(by_start.begin(), by_start.end(), 0U);
  std::ranges::stable_sort(by_start, {},
                           [&](uint32_t i) { return recording.events[i].step.span.start; });
  std::unordered_map<Key, std::vector<Picoseconds>> ends;  // of the last slice of each lane
  for (const uint32_t i : by_start) {
    const Span& span = recording.events[i].step.span;
    std::vector<Picoseconds>& taken = ends[keys[i]];
    const auto free =
        std::ranges::find_if(taken, [&](Picoseconds end) { return end <= span.start; });
    keys[i] += static_cast<uint64_t>(free - taken.begin());
    if (free == taken.end()) {
      taken.push_back(span.end);
    } else {
      *free = std::max(*free, span.end);
    }
  }
}

/// Numbers the tracks in the order of their keys, and says which number each key has.
std::unordered_map<Key, uint32_t> numbered(const std::vector<const std::vector<Key>*>& lists,
                                           TrackLayout& layout) {
  std::unordered_map<Key, uint32_t> numbers;
  for (const std::vector<Key>* keys : lists) {
    for (const Key key : *keys) numbers[key];
  }
  numbers.erase(kNoTrack);
  std::vector<Key> sorted;
  sorted.reserve(numbers.size());
  for (const auto& [key, number] : numbers) sorted.push_back(key);
  std::ranges::sort(sorted);
  for (const Key key : sorted) {
    numbers[key] = static_cast<uint32_t>(layout.tracks.size());
    layout.tracks.push_back(track_of(key));
  }
  numbers[kNoTrack] = kNoIndex;
  return numbers;
}

}  // namespace

TrackLayout lay_out(const Recording& recording) {
  std::vector<Key> events, waits, shares;
  const Program& program = *recording.program;
  for (const RecordedEvent& event : recording.events) {
    events.push_back(key_of(program, event.step));
  }
  spread(recording, events);
  for (const RecordedInstance& instance : recording.instances) {
    const EngineKind engine = program.instructions[instance.instruction].engine;
    const bool waited = instance.start > instance.ready;
    waits.push_back(waited ? key_of(instance.core, engine, TrackKind::kWaits) : kNoTrack);
  }
  for (const RecordedShare& share : recording.shares) {
    const StepEvent& step = recording.events[share.event].step;
    const QueueKind queue = queue_kind(program, program.instructions[step.instruction]);
    shares.push_back(key_of(step.core, step.engine, TrackKind::kRing, share.share.engine, queue));
  }
  TrackLayout layout;
  const auto numbers = numbered({&events, &waits, &shares}, layout);
  for (const Key key : events) layout.of_event.push_back(numbers.at(key));
  for (const Key key : waits) layout.of_instance.push_back(numbers.at(key));
  for (const Key key : shares) layout.of_share.push_back(numbers.at(key));
  return layout;
}

}  // namespace neuron_sim
