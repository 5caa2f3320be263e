#include "python_bindings/core_module/program/recording_bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sstream>
#include <type_traits>

#include "device/base/errors.h"
#include "device/observe/counters.h"
#include "device/observe/critical_path.h"
#include "device/observe/event_text.h"
#include "device/observe/perfetto.h"
#include "device/observe/queue_name.h"
#include "device/observe/source_shares.h"
#include "device/observe/tracks.h"
#include "python_bindings/core_module/program/program_timing.h"
#include "python_bindings/core_module/program/recording_names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

double time_of(Picoseconds time) { return static_cast<double>(time.count); }

template <typename Number>
const char* type_name() {
  if constexpr (std::is_same_v<Number, double>) return "f8";
  if constexpr (std::is_same_v<Number, uint32_t>) return "u4";
  if constexpr (std::is_same_v<Number, int32_t>) return "i4";
  return "u1";
}

/// One column of numbers of type `Number`, `value` of each item, with the name of the type.
template <typename Number, typename Items, typename Value>
nb::tuple column(const Items& items, Value value) {
  std::vector<Number> numbers;
  numbers.reserve(items.size());
  for (const auto& item : items) numbers.push_back(static_cast<Number>(value(item)));
  const nb::bytes content(reinterpret_cast<const char*>(numbers.data()),
                          numbers.size() * sizeof(Number));
  return nb::make_tuple(type_name<Number>(), content);
}

void add_events(const Recording& recording, nb::dict& columns) {
  const auto& events = recording.events;
  const auto with_step = [](auto value) {
    return [value](const RecordedEvent& event) { return value(event.step); };
  };
  columns["event_start"] = column<double>(
      events, with_step([](const StepEvent& step) { return time_of(step.span.start); }));
  columns["event_end"] = column<double>(
      events, with_step([](const StepEvent& step) { return time_of(step.span.end); }));
  columns["event_done"] = column<double>(
      events, with_step([](const StepEvent& step) { return time_of(step.span.done); }));
  columns["event_busy"] =
      column<double>(events, with_step([](const StepEvent& step) { return time_of(step.busy); }));
  columns["event_bytes"] =
      column<double>(events, with_step([](const StepEvent& step) { return step.bytes; }));
  columns["event_kind"] =
      column<uint8_t>(events, with_step([](const StepEvent& step) { return step.kind; }));
  columns["event_instance"] =
      column<uint32_t>(events, [](const RecordedEvent& event) { return event.instance; });
  columns["event_cause"] =
      column<uint32_t>(events, [](const RecordedEvent& event) { return event.cause; });
  columns["event_cause_kind"] =
      column<uint8_t>(events, [](const RecordedEvent& event) { return event.cause_kind; });
}

void add_instances(const Recording& recording, const std::vector<uint32_t>& kinds,
                   nb::dict& columns) {
  const auto& instances = recording.instances;
  using Instance = RecordedInstance;
  columns["instance_instruction"] =
      column<uint32_t>(instances, [&](const Instance& each) { return kinds[each.instruction]; });
  columns["instance_ready"] =
      column<double>(instances, [](const Instance& each) { return time_of(each.ready); });
  columns["instance_start"] =
      column<double>(instances, [](const Instance& each) { return time_of(each.start); });
  columns["instance_bound"] =
      column<uint32_t>(instances, [](const Instance& each) { return each.bound; });
  columns["instance_first_wait"] =
      column<uint32_t>(instances, [](const Instance& each) { return each.first_wait; });
  columns["instance_first_location"] =
      column<uint32_t>(instances, [](const Instance& each) { return each.first_location; });
  const auto& waits = recording.waits;
  using Wait = RecordedWait;
  columns["wait_event"] = column<uint32_t>(waits, [](const Wait& each) { return each.event; });
  columns["wait_slot"] =
      column<uint8_t>(waits, [](const Wait& each) { return each.awaited.producer; });
  columns["wait_completion"] =
      column<double>(waits, [](const Wait& each) { return time_of(each.awaited.completion); });
  columns["wait_released"] =
      column<double>(waits, [](const Wait& each) { return time_of(each.awaited.released); });
  const auto& places = recording.locations;
  columns["location_tile"] =
      column<int32_t>(places, [](const Location& each) { return each.tile; });
  columns["location_partition"] =
      column<int32_t>(places, [](const Location& each) { return each.partition; });
  columns["location_offset"] =
      column<double>(places, [](const Location& each) { return each.offset; });
}

void add_shares_and_lives(const Recording& recording, nb::dict& columns) {
  const auto& shares = recording.shares;
  using Share = RecordedShare;
  columns["share_event"] = column<uint32_t>(shares, [](const Share& each) { return each.event; });
  columns["share_start"] =
      column<double>(shares, [](const Share& each) { return time_of(each.share.start); });
  columns["share_end"] =
      column<double>(shares, [](const Share& each) { return time_of(each.share.end); });
  columns["share_busy"] =
      column<double>(shares, [](const Share& each) { return time_of(each.share.duration); });
  columns["share_bytes"] =
      column<double>(shares, [](const Share& each) { return each.share.bytes; });
  const auto& lives = recording.lives;
  columns["life_tile"] = column<int32_t>(lives, [](const TileLife& each) { return each.tile; });
  columns["life_start"] =
      column<double>(lives, [](const TileLife& each) { return time_of(each.start); });
  columns["life_end"] =
      column<double>(lives, [](const TileLife& each) { return time_of(each.end); });
}

void add_path(const Recording& recording, nb::dict& result, nb::dict& columns) {
  const std::vector<PathSegment> path = critical_path(recording);
  columns["path_event"] =
      column<uint32_t>(path, [](const PathSegment& each) { return each.event; });
  columns["path_works"] = column<uint8_t>(path, [](const PathSegment& each) { return each.works; });
  columns["path_start"] =
      column<double>(path, [](const PathSegment& each) { return time_of(each.start); });
  columns["path_end"] =
      column<double>(path, [](const PathSegment& each) { return time_of(each.end); });
  nb::dict summary;
  for (const auto& [spent, time] : path_summary(recording, path)) {
    summary[spent.c_str()] = time.count;
  }
  result["path"] = summary;
}

nb::list counter_list(const Recording& recording, nb::dict& columns) {
  nb::list result;
  for (const Counter& counter : counters_over_time(recording)) {
    const std::string number = std::to_string(nb::len(result));
    nb::dict entry;
    entry["core"] = counter.core;
    entry["name"] = counter.name;
    entry["unit"] = counter.unit;
    result.append(entry);
    columns[("counter_time_" + number).c_str()] = column<double>(
        counter.samples, [](const CounterSample& each) { return time_of(each.time); });
    columns[("counter_value_" + number).c_str()] =
        column<double>(counter.samples, [](const CounterSample& each) { return each.value; });
  }
  return result;
}

nb::list track_list(const Recording& recording, nb::dict& columns) {
  const TrackLayout layout = lay_out(recording);
  const auto same = [](uint32_t number) { return number; };
  columns["event_track"] = column<uint32_t>(layout.of_event, same);
  columns["instance_track"] = column<uint32_t>(layout.of_instance, same);
  columns["share_track"] = column<uint32_t>(layout.of_share, same);
  nb::list tracks;
  for (const Track& track : layout.tracks) {
    static constexpr const char* kKinds[] = {"engine", "waits", "queue", "ring", "collectives"};
    nb::dict entry;
    entry["core"] = track.core;
    entry["kind"] = kKinds[static_cast<size_t>(track.kind)];
    entry["name"] = track.name;
    entry["group"] = track.group;
    if (track.kind == TrackKind::kQueue || track.kind == TrackKind::kRing) {
      entry["queue"] = queue_name(track.engine, track.queue);
    }
    if (track.kind == TrackKind::kRing) entry["dma_engine"] = track.part;
    tracks.append(entry);
  }
  return tracks;
}

nb::dict phase_dict(const LaunchPhases& phases) {
  nb::dict result;
  for (const LaunchPhase* phase :
       {&phases.total, &phases.preamble, &phases.body, &phases.postamble, &phases.latency}) {
    result[phase->name] = nb::make_tuple(phase->start.count, phase->end.count);
  }
  return result;
}

}  // namespace

nb::dict recording_dict(const Program& program, const std::optional<std::string>& architecture,
                        const std::vector<int64_t>& log) {
  const TimelineOptions options = timeline_options(program, architecture);
  Recording recording;
  {
    const nb::gil_scoped_release unlocked;
    recording = record(program, {log}, options);
  }
  nb::dict result, columns, names, busy;
  add_events(recording, columns);
  std::vector<uint32_t> kinds;
  names["instructions"] = instruction_list(program, kinds);
  add_instances(recording, kinds, columns);
  add_shares_and_lives(recording, columns);
  add_path(recording, result, columns);
  names["tiles"] = tile_list(program);
  names["tracks"] = track_list(recording, columns);
  nb::list slots;
  for (Slot slot = 0; slot < kSlotCount; ++slot) slots.append(slot_name(slot));
  names["slots"] = slots;
  for (int engine = 0; engine < kEngineCount; ++engine) {
    busy[name(static_cast<EngineKind>(engine))] =
        recording.timing.busy[static_cast<size_t>(engine)].count;
  }
  busy["DMA"] = recording.timing.dma_busy.count;
  result["kernel"] = program.kernel;
  result["architecture"] = recording.architecture->name;
  result["cores"] = program.cores.size();
  result["body"] = recording.timing.body.count;
  result["busy"] = busy;
  result["dma_bytes"] = recording.timing.dma_bytes;
  result["dma_transfers"] = recording.timing.dma_transfers;
  result["phases"] = phase_dict(recording.phases);
  result["counters"] = counter_list(recording, columns);
  result["names"] = names;
  result["columns"] = columns;
  return result;
}

nb::list source_share_list(const Program& program, const std::vector<int64_t>& log) {
  std::vector<SourceShare> shares;
  {
    const nb::gil_scoped_release unlocked;
    shares = shares_by_source(record(program, {log}));
  }
  nb::list result;
  for (const SourceShare& share : shares) {
    nb::dict entry, path;
    for (const auto& [spent, time] : share.path) path[spent.c_str()] = time.microseconds();
    entry["source"] = share.source;
    entry["path_us"] = path;
    entry["instructions"] = share.instances;
    entry["dma_bytes"] = share.dma_bytes;
    entry["hbm_bytes"] = share.hbm_bytes;
    entry["multiply_accumulates"] = share.multiply_accumulates;
    result.append(entry);
  }
  return result;
}

nb::bytes perfetto_bytes(const Program& program, const std::vector<int64_t>& log) {
  std::ostringstream out;
  {
    const nb::gil_scoped_release unlocked;
    write_perfetto(out, record(program, {log}));
  }
  const std::string content = std::move(out).str();
  return nb::bytes(content.data(), content.size());
}

}  // namespace neuron_sim
