#include "device/observe/counters.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// Adds up intervals, each with a value.
class Sum {
 public:
  void add(Picoseconds start, Picoseconds end, double value) {
    if (end <= start) return;
    changes_.push_back({start, value, 1});
    changes_.push_back({end, -value, -1});
  }

  std::vector<CounterSample> samples() {
    std::ranges::stable_sort(changes_, {}, &Change::time);
    std::vector<CounterSample> result;
    double value = 0;
    int64_t open = 0;
    for (size_t i = 0; i < changes_.size(); ++i) {
      value += changes_[i].value;
      open += changes_[i].open;
      if (open == 0) value = 0;  // no rounding is left over
      if (i + 1 < changes_.size() && changes_[i + 1].time == changes_[i].time) continue;
      result.push_back({changes_[i].time, value});
    }
    return result;
  }

 private:
  struct Change {
    Picoseconds time{};
    double value = 0;
    int open = 0;
  };
  std::vector<Change> changes_;
};

/// From the trigger of each transfer to its completion.
void add_pending(const Recording& recording, std::vector<Sum>& sums) {
  std::vector<Picoseconds> triggered(recording.instances.size());
  for (const RecordedEvent& event : recording.events) {
    if (event.step.unit != Unit::kDma) continue;
    const Span& span = event.step.span;
    if (event.step.kind == EventKind::kTrigger) triggered[event.instance] = span.start;
    if (event.step.kind != EventKind::kTransfer) continue;
    sums[event.step.core].add(triggered[event.instance], span.done, 1);
  }
}

void add_throughput(const Recording& recording, std::vector<Sum>& sums) {
  for (const RecordedShare& recorded : recording.shares) {
    const DmaShare& share = recorded.share;
    const Picoseconds time = share.end - share.start;
    if (time.count <= 0) continue;
    sums[recording.events[recorded.event].step.core].add(
        share.start, share.end, static_cast<double>(share.bytes) / time.nanoseconds());
  }
}

void add_occupancy(const Recording& recording, MemoryKind memory, std::vector<Sum>& sums) {
  for (const TileLife& life : recording.lives) {
    const Tile& tile = recording.program->tiles[static_cast<size_t>(life.tile)];
    if (tile.memory != memory) continue;
    sums[tile.core].add(life.start, life.end, static_cast<double>(bytes_of(tile)));
  }
}

}  // namespace

std::vector<Counter> counters_over_time(const Recording& recording) {
  const size_t cores = recording.program->cores.size();
  std::vector<Sum> pending(cores), throughput(cores), sbuf(cores), psum(cores);
  add_pending(recording, pending);
  add_throughput(recording, throughput);
  add_occupancy(recording, MemoryKind::kSbuf, sbuf);
  add_occupancy(recording, MemoryKind::kPsum, psum);
  std::vector<Counter> counters;
  for (size_t core = 0; core < cores; ++core) {
    const auto number = static_cast<uint8_t>(core);
    counters.push_back({number, "pending DMA", "transfers", pending[core].samples()});
    counters.push_back({number, "DMA throughput", "GB/s", throughput[core].samples()});
    counters.push_back({number, "SBUF", "bytes", sbuf[core].samples()});
    counters.push_back({number, "PSUM", "bytes", psum[core].samples()});
  }
  return counters;
}

}  // namespace neuron_sim
