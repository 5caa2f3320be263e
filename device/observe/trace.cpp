#include "device/observe/trace.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Track of an event: engines first (TensorE has one for its loads), then DMA queues.
int track_of(const StepEvent& event) {
  const int engine = static_cast<int>(event.engine);
  if (event.kind == EventKind::kStep && event.unit == Unit::kLoadStationary) return 1;
  if (event.unit == Unit::kCollective && event.kind == EventKind::kTransfer) return 24;
  if (event.kind == EventKind::kTransfer) return 16 + engine;
  return event.engine == EngineKind::kTensor ? 2 : 3 + engine;
}

std::string track_name(int track) {
  if (track == 1) return "Tensor (load stationary)";
  if (track == 2) return "Tensor (multiply moving)";
  if (track == 24) return "Collectives";
  if (track >= 16) return text("DMA queue of ", name(static_cast<EngineKind>(track - 16)));
  return name(static_cast<EngineKind>(track - 3));
}

/// The lane of each event on its track, 0 first. Transfers of a queue run side by side; slices of a
/// lane follow each other, as viewers drop slices of a track that overlap without nesting.
std::vector<int> lanes_of(const std::vector<StepEvent>& events) {
  std::vector<size_t> by_start(events.size());
  std::iota(by_start.begin(), by_start.end(), size_t{0});
  std::ranges::stable_sort(by_start, {}, [&](size_t i) { return events[i].span.start; });
  std::map<std::pair<int, int>, std::vector<Picoseconds>> ends;  // of the last slice of each lane
  std::vector<int> lanes(events.size());
  for (const size_t i : by_start) {
    std::vector<Picoseconds>& taken = ends[{events[i].core, track_of(events[i])}];
    const auto free =
        std::ranges::find_if(taken, [&](Picoseconds end) { return end <= events[i].span.start; });
    lanes[i] = static_cast<int>(free - taken.begin());
    if (free == taken.end()) taken.emplace_back();
    taken[static_cast<size_t>(lanes[i])] = events[i].span.end;
  }
  return lanes;
}

/// A lane as the thread id of a viewer, in the order of tracks; far more lanes than DMA engines.
constexpr int kMostLanes = 1'000'000;
int thread_of(int track, int lane) { return track * kMostLanes + lane; }

std::string lane_name(int track, int lane) {
  return lane == 0 ? track_name(track) : text(track_name(track), ", ", lane + 1);
}

/// Decimal microseconds of a time in picoseconds, exactly.
std::string microseconds(Picoseconds time) {
  std::string digits = text(time.count % 1'000'000);
  return text(time.count / 1'000'000, ".", std::string(6 - digits.size(), '0'), digits);
}

std::string quoted(std::string_view raw) {
  std::string result = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += ' ';
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string operand_text(const Program& program, const Operand& operand) {
  std::string shape = text(operand.partitions);
  for (int i = 0; i < operand.rank; ++i) {
    shape += text(", ", operand.free[static_cast<size_t>(i)].size);
  }
  const Tile& tile = program.tiles[static_cast<size_t>(operand.tile)];
  return text(tile.label, " [", shape, "] ", name(operand.dtype), " ", name(operand.memory));
}

std::string event_name(const Program& program, const StepEvent& event) {
  const Instruction& instruction = program.instructions[event.instruction];
  const std::string_view base = instruction.type->name;
  switch (event.kind) {
    case EventKind::kWait: return text(base, " wait");
    case EventKind::kTableLoad: return text(base, " table load");
    case EventKind::kGeneration: return text(base, " descriptor generation");
    case EventKind::kTrigger: return text(base, " trigger");
    case EventKind::kStep:
      if (event.unit == Unit::kLoadStationary) return text(base, " load stationary");
      break;
    case EventKind::kTransfer: break;
  }
  return std::string(base);
}

std::string arguments_of(const Program& program, const StepEvent& event) {
  const Instruction& instruction = program.instructions[event.instruction];
  const InstructionType& type = *instruction.type;
  std::string result = text("{\"visible_us\":", microseconds(event.span.done));
  const auto operands = program.operands_of(instruction);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present()) continue;
    result +=
        text(",", quoted(type.operands[i].name), ":", quoted(operand_text(program, operands[i])));
  }
  if (event.bytes > 0) result += text(",\"bytes\":", event.bytes);
  if (instruction.source_line >= 0) {
    result += text(",\"source\":",
                   quoted(program.source_lines[static_cast<size_t>(instruction.source_line)]));
  }
  return result + "}";
}

}  // namespace

void TraceObserver::step(const Program&, const StepEvent& event) { events_.push_back(event); }

void TraceObserver::write(std::ostream& out, const Program& program, Picoseconds start) const {
  out << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"kernel\":" << quoted(program.kernel)
      << ",\"architecture\":" << quoted(program.architecture->name) << "},\"traceEvents\":[";
  const std::vector<int> lanes = lanes_of(events_);
  std::set<std::tuple<int, int, int>> threads;
  for (size_t i = 0; i < events_.size(); ++i) {
    threads.insert({events_[i].core, track_of(events_[i]), lanes[i]});
  }
  const char* separator = "\n";
  for (size_t core = 0; program.cores.size() > 1 && core < program.cores.size(); ++core) {
    out << separator << "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" << core
        << ",\"args\":{\"name\":\"core " << core << "\"}}";
    separator = ",\n";
  }
  for (const auto& [core, track, lane] : threads) {
    const int thread = thread_of(track, lane);
    out << separator << "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" << core
        << ",\"tid\":" << thread << ",\"args\":{\"name\":" << quoted(lane_name(track, lane))
        << "}}";
    out << ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":" << core
        << ",\"tid\":" << thread << ",\"args\":{\"sort_index\":" << thread << "}}";
    separator = ",\n";
  }
  for (size_t i = 0; i < events_.size(); ++i) {
    const StepEvent& event = events_[i];
    StepEvent shifted = event;
    shifted.span.done += start;
    out << separator << "{\"ph\":\"X\",\"name\":" << quoted(event_name(program, event))
        << ",\"pid\":" << int{event.core} << ",\"tid\":" << thread_of(track_of(event), lanes[i])
        << ",\"ts\":" << microseconds(event.span.start + start)
        << ",\"dur\":" << microseconds(event.span.end - event.span.start)
        << ",\"args\":" << arguments_of(program, shifted) << "}";
    separator = ",\n";
  }
  out << "\n]}\n";
}

Timing write_trace(std::ostream& out, const Program& program, const ControlLog& log) {
  TraceObserver observer;
  TimelineOptions options;
  options.observer = &observer;
  Timing timing = simulate(program, log, options);
  observer.write(out, program);
  return timing;
}

}  // namespace neuron_sim
