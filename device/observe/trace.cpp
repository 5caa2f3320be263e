#include "device/observe/trace.h"

#include <nlohmann/json.hpp>

#include "device/base/errors.h"
#include "device/observe/event_text.h"
#include "device/observe/tracks.h"

namespace neuron_sim {
namespace {

using Json = nlohmann::ordered_json;

/// A double holds the picoseconds of a time below 2,500 hours.
double microseconds(Picoseconds time) { return static_cast<double>(time.count) / 1e6; }

/// On one line. Names are the user's bytes: what is not UTF-8 becomes U+FFFD.
std::string line_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// One trace, event by event.
class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const Recording& recording, Picoseconds start)
      : out_(out),
        recording_(recording),
        program_(*recording.program),
        layout_(lay_out(recording)),
        launch_(start),
        body_(start + recording.phases.body.start) {}

  void write() {
    const Json other = {{"kernel", program_.kernel},
                        {"architecture", recording_.architecture->name}};
    out_ << R"({"displayTimeUnit":"ns","otherData":)" << line_of(other) << R"(,"traceEvents":[)";
    names();
    for (size_t i = 0; i < recording_.events.size(); ++i) {
      const StepEvent& event = recording_.events[i].step;
      slice(event_name(program_, event), event.core, layout_.of_event[i], body_ + event.span.start,
            body_ + event.span.end, arguments(event));
    }
    for (size_t i = 0; i < recording_.instances.size(); ++i) wait(i);
    phases();
    out_ << "\n]}\n";
  }

 private:
  void write(const Json& event) {
    out_ << separator_ << line_of(event);
    separator_ = ",\n";
  }

  void slice(std::string_view title, int process, size_t track, Picoseconds from, Picoseconds to,
             Json arguments) {
    write({{"ph", "X"},
           {"name", title},
           {"pid", process},
           {"tid", track + 1},
           {"ts", microseconds(from)},
           {"dur", microseconds(to - from)},
           {"args", std::move(arguments)}});
  }

  /// Tells what one argument of a process, or of one of its threads, is.
  void describe(std::string_view kind, int process, const Json& thread, const char* argument,
                Json value) {
    Json event = {{"ph", "M"}, {"name", kind}, {"pid", process}};
    if (!thread.is_null()) event["tid"] = thread;
    event["args"] = {{argument, std::move(value)}};
    write(event);
  }

  void name_thread(int process, size_t track, std::string_view title) {
    describe("thread_name", process, track + 1, "name", title);
    describe("thread_sort_index", process, track + 1, "sort_index", track + 1);
  }

  void names() {
    for (size_t core = 0; program_.cores.size() > 1 && core < program_.cores.size(); ++core) {
      describe("process_name", static_cast<int>(core), nullptr, "name", text("core ", core));
    }
    for (size_t i = 0; i < layout_.tracks.size(); ++i) {
      const Track& track = layout_.tracks[i];
      if (track.kind != TrackKind::kRing) name_thread(track.core, i, track.name);
    }
    name_thread(0, layout_.tracks.size(), "Launch");
    name_thread(0, layout_.tracks.size() + 1, "Launch without profiler");
  }

  Json arguments(const StepEvent& event) const {
    const Instruction& instruction = program_.instructions[event.instruction];
    Json result = {{"visible_us", microseconds(body_ + event.span.done)}};
    const auto operands = program_.operands_of(instruction);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present()) continue;
      result[std::string(instruction.type->operands[i].name)] = operand_text(program_, operands[i]);
    }
    if (event.bytes > 0) result["bytes"] = event.bytes;
    if (instruction.source_line >= 0) result["source"] = source_of(program_, instruction);
    return result;
  }

  void wait(size_t index) {
    if (layout_.of_instance[index] == kNoIndex) return;
    const RecordedInstance& instance = recording_.instances[index];
    Json arguments = Json::object();
    if (instance.bound != kNoIndex) {
      const RecordedWait& bound = recording_.waits[instance.bound];
      arguments["for"] = slot_name(bound.awaited.producer);
      arguments["completed_us"] = microseconds(body_ + bound.awaited.completion);
      if (bound.event != kNoIndex) {
        arguments["producer"] = event_name(program_, recording_.events[bound.event].step);
      }
    }
    const Instruction& instruction = program_.instructions[instance.instruction];
    slice(text(instruction.type->name, " waits"), instance.core, layout_.of_instance[index],
          body_ + instance.ready, body_ + instance.start, std::move(arguments));
  }

  void phases() {
    const LaunchPhases& phases = recording_.phases;
    const size_t track = layout_.tracks.size();
    for (const LaunchPhase* phase :
         {&phases.total, &phases.preamble, &phases.body, &phases.postamble}) {
      slice(phase->name, 0, track, launch_ + phase->start, launch_ + phase->end, Json::object());
    }
    slice(phases.latency.name, 0, track + 1, launch_ + phases.latency.start,
          launch_ + phases.latency.end, Json::object());
  }

  std::ostream& out_;
  const Recording& recording_;
  const Program& program_;
  const TrackLayout layout_;
  Picoseconds launch_, body_;
  const char* separator_ = "\n";
};

}  // namespace

void write_trace(std::ostream& out, const Recording& recording, Picoseconds start) {
  TraceWriter(out, recording, start).write();
}

Timing write_trace(std::ostream& out, const Program& program, const ControlLog& log) {
  const Recording recording = record(program, log);
  write_trace(out, recording);
  return recording.timing;
}

}  // namespace neuron_sim
