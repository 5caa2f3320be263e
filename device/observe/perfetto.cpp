#include "device/observe/perfetto.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "device/base/errors.h"
#include "device/observe/counters.h"
#include "device/observe/perfetto_fields.h"
#include "device/observe/perfetto_strings.h"
#include "device/observe/tracks.h"

namespace neuron_sim {
namespace {

namespace packet = perfetto::packet;
namespace descriptor = perfetto::descriptor;

/// A slice of a track, with the fields of its TrackEvent that say what it is.
struct Slice {
  enum class What : uint8_t { kEvent, kWait, kShare } what{};
  uint32_t index = 0;
  Picoseconds start{}, end{};
};

class PerfettoWriter {
 public:
  PerfettoWriter(std::ostream& out, const Recording& recording)
      : out_(out), recording_(recording), layout_(lay_out(recording)), strings_(recording) {
    list_flows();
  }

  void write() {
    // Packets are written before the texts that they name, which must come first in the file.
    describe();
    slices();
    phases();
    counters();
    ProtobufMessage first;
    first.integer(packet::kSequence, kSequence);
    first.integer(packet::kSequenceFlags, packet::kStateCleared);
    first.message(packet::kInternedData, strings_.interned());
    ProtobufMessage trace;
    trace.message(perfetto::kTracePacket, first);
    out_ << trace.bytes() << trace_.bytes();
  }

 private:
  static constexpr uint64_t kSequence = 1;
  // Ids of tracks: the processes, then their groups, then the tracks of the layout, then counters.
  static constexpr uint64_t kGroups = 1000, kTracks = 100'000, kCounters = 10'000'000;
  uint64_t launch_process() const { return recording_.program->cores.size() + 1; }
  uint64_t launch_track() const { return kGroups - 2; }
  uint64_t latency_track() const { return kGroups - 1; }

  void add(const ProtobufMessage& content, int field, Picoseconds since_launch = {}) {
    packet_.clear();
    if (field == packet::kTrackEvent) {
      packet_.integer(packet::kTimestamp, static_cast<uint64_t>(since_launch.count / 1000));
    }
    packet_.integer(packet::kSequence, kSequence);
    packet_.integer(packet::kSequenceFlags, packet::kNeedsState);
    packet_.message(field, content);
    trace_.message(perfetto::kTracePacket, packet_);
  }

  void describe_process(uint64_t id, const std::string& title) {
    ProtobufMessage process, content;
    process.integer(descriptor::kProcessId, id);
    process.string(descriptor::kProcessName, title);
    content.integer(descriptor::kUuid, id);
    content.message(descriptor::kProcess, process);
    content.integer(descriptor::kChildOrdering, descriptor::kExplicit);
    add(content, packet::kTrackDescriptor);
  }

  void describe_track(uint64_t id, uint64_t parent, const std::string& title, uint64_t rank) {
    ProtobufMessage content;
    content.integer(descriptor::kUuid, id);
    content.integer(descriptor::kParent, parent);
    content.string(descriptor::kName, title);
    content.integer(descriptor::kChildOrdering, descriptor::kExplicit);
    content.integer(descriptor::kRank, rank);
    add(content, packet::kTrackDescriptor);
  }

  void describe() {
    const Program& program = *recording_.program;
    describe_process(launch_process(), text("launch of ", program.kernel));
    describe_track(launch_track(), launch_process(), "total_time", 0);
    describe_track(latency_track(), launch_process(), "nc_latency", 1);
    for (size_t core = 0; core < program.cores.size(); ++core) {
      describe_process(core + 1, text(program.kernel, " on core ", core));
    }
    const Track* before = nullptr;
    uint64_t group = kGroups - 1;
    for (size_t i = 0; i < layout_.tracks.size(); ++i) {
      const Track& track = layout_.tracks[i];
      if (before == nullptr || before->core != track.core || before->group != track.group) {
        describe_track(++group, uint64_t{track.core} + 1, track.group, i);
      }
      describe_track(kTracks + i, group, track.name, i);
      before = &track;
    }
  }

  /// Flows of each event: those that begin with it and those that end with it.
  void list_flows() {
    begins_.resize(recording_.events.size());
    first_events_.assign(recording_.instances.size(), kNoIndex);
    for (size_t i = 0; i < recording_.events.size(); ++i) {
      const StepEvent& event = recording_.events[i].step;
      uint32_t& first = first_events_[recording_.events[i].instance];
      const bool waits = event.kind == EventKind::kWait || event.kind == EventKind::kTableLoad;
      if (first == kNoIndex && !waits) first = static_cast<uint32_t>(i);
    }
    for (size_t i = 0; i < recording_.waits.size(); ++i) {
      const uint32_t producer = recording_.waits[i].event;
      if (producer != kNoIndex) begins_[producer].push_back(i + 1);
    }
  }

  void add_flows(ProtobufMessage& content, uint32_t index) const {
    const RecordedEvent& event = recording_.events[index];
    const uint64_t triggers = recording_.waits.size() + 1;  // flows of triggers, by instance
    for (const uint64_t flow : begins_[index]) content.fixed(perfetto::event::kFlows, flow);
    if (event.step.kind == EventKind::kTrigger) {
      content.fixed(perfetto::event::kFlows, triggers + event.instance);
    }
    if (event.step.kind == EventKind::kTransfer) {
      content.fixed(perfetto::event::kEndingFlows, triggers + event.instance);
    }
    if (first_events_[event.instance] != index) return;
    const auto waits = recording_.waits_of(event.instance);
    const size_t first = recording_.instances[event.instance].first_wait;
    for (size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].event == kNoIndex) continue;
      content.fixed(perfetto::event::kEndingFlows, first + i + 1);
    }
  }

  void fill(ProtobufMessage& content, const Slice& slice) {
    strings_.annotate(content, "start_ps", slice.start.count);
    strings_.annotate(content, "duration_ps", (slice.end - slice.start).count);
    if (slice.what == Slice::What::kWait) {
      const RecordedInstance& instance = recording_.instances[slice.index];
      content.integer(perfetto::event::kNameId, strings_.wait_name_of(instance.instruction));
      if (instance.bound == kNoIndex) return;
      strings_.annotate_wait(content, recording_.waits[instance.bound]);
      return;
    }
    const bool share = slice.what == Slice::What::kShare;
    const uint32_t index = share ? recording_.shares[slice.index].event : slice.index;
    const StepEvent& event = recording_.events[index].step;
    content.integer(perfetto::event::kNameId, strings_.name_of(event));
    if (share) {
      const DmaShare& own = recording_.shares[slice.index].share;
      strings_.annotate(content, "bytes", own.bytes);
      strings_.annotate(content, "descriptors", own.descriptors);
      return;
    }
    strings_.annotate(content, "visible_ps", event.span.done.count);
    if (event.bytes > 0) strings_.annotate(content, "bytes", event.bytes);
    content.append(strings_.arguments_of(event.instruction));
    add_flows(content, index);
  }

  void begin(uint64_t track, const Slice& slice) {
    event_.clear();
    event_.integer(perfetto::event::kType, perfetto::event::kBegin);
    event_.integer(perfetto::event::kTrack, track);
    fill(event_, slice);
    add(event_, packet::kTrackEvent, recording_.phases.body.start + slice.start);
  }

  void end(uint64_t track, Picoseconds since_launch) {
    event_.clear();
    event_.integer(perfetto::event::kType, perfetto::event::kEnd);
    event_.integer(perfetto::event::kTrack, track);
    add(event_, packet::kTrackEvent, since_launch);
  }

  /// Slices follow each other or nest; ends at a time come before beginnings.
  void write_track(uint64_t track, std::vector<Slice>& slices) {
    std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end && b.end > b.start;
    });
    std::vector<Picoseconds> open;
    const Picoseconds body = recording_.phases.body.start;
    const auto close_until = [&](Picoseconds time) {
      for (; !open.empty() && open.back() <= time; open.pop_back()) end(track, body + open.back());
    };
    for (const Slice& slice : slices) {
      close_until(slice.start);
      begin(track, slice);
      open.push_back(slice.end);
    }
    close_until({INT64_MAX});
  }

  void slices() {
    std::vector<std::vector<Slice>> by_track(layout_.tracks.size());
    for (uint32_t i = 0; i < recording_.events.size(); ++i) {
      const Span& span = recording_.events[i].step.span;
      by_track[layout_.of_event[i]].push_back({Slice::What::kEvent, i, span.start, span.end});
    }
    for (uint32_t i = 0; i < recording_.instances.size(); ++i) {
      if (layout_.of_instance[i] == kNoIndex) continue;
      const RecordedInstance& wait = recording_.instances[i];
      by_track[layout_.of_instance[i]].push_back({Slice::What::kWait, i, wait.ready, wait.start});
    }
    for (uint32_t i = 0; i < recording_.shares.size(); ++i) {
      const DmaShare& share = recording_.shares[i].share;
      by_track[layout_.of_share[i]].push_back({Slice::What::kShare, i, share.start, share.end});
    }
    for (size_t i = 0; i < by_track.size(); ++i) write_track(kTracks + i, by_track[i]);
  }

  void phases() {
    const LaunchPhases& phases = recording_.phases;
    const auto open = [&](uint64_t track, const LaunchPhase& phase) {
      event_.clear();
      event_.integer(perfetto::event::kType, perfetto::event::kBegin);
      event_.integer(perfetto::event::kTrack, track);
      event_.integer(perfetto::event::kNameId, strings_.name_of(phase));
      strings_.annotate(event_, "start_ps", (phase.start - phases.body.start).count);
      strings_.annotate(event_, "duration_ps", (phase.end - phase.start).count);
      add(event_, packet::kTrackEvent, phase.start);
    };
    open(launch_track(), phases.total);
    for (const LaunchPhase& phase : {phases.preamble, phases.body, phases.postamble}) {
      open(launch_track(), phase);
      end(launch_track(), phase.end);
    }
    end(launch_track(), phases.total.end);
    open(latency_track(), phases.latency);
    end(latency_track(), phases.latency.end);
  }

  void counters() {
    uint64_t id = kCounters;
    for (const Counter& counter : counters_over_time(recording_)) {
      ProtobufMessage unit, content;
      unit.string(descriptor::kUnitName, counter.unit);
      content.integer(descriptor::kUuid, ++id);
      content.integer(descriptor::kParent, uint64_t{counter.core} + 1);
      content.string(descriptor::kName, counter.name);
      content.message(descriptor::kCounter, unit);
      content.integer(descriptor::kRank, id);
      add(content, packet::kTrackDescriptor);
      for (const CounterSample& sample : counter.samples) {
        event_.clear();
        event_.integer(perfetto::event::kType, perfetto::event::kCounter);
        event_.integer(perfetto::event::kTrack, id);
        event_.number(perfetto::event::kDoubleValue, sample.value);
        add(event_, packet::kTrackEvent, recording_.phases.body.start + sample.time);
      }
    }
  }

  std::ostream& out_;
  const Recording& recording_;
  const TrackLayout layout_;
  PerfettoStrings strings_;
  std::vector<std::vector<uint64_t>> begins_;  // flows that begin with an event
  std::vector<uint32_t> first_events_;         // by instance: where its flows end
  ProtobufMessage trace_, packet_, event_;
};

}  // namespace

void write_perfetto(std::ostream& out, const Recording& recording) {
  PerfettoWriter(out, recording).write();
}

}  // namespace neuron_sim
