#include "device/observe/trace.h"

#include "device/base/errors.h"
#include "device/observe/event_text.h"
#include "device/observe/tracks.h"

namespace neuron_sim {
namespace {

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
    out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"kernel\":" << quoted(program_.kernel)
         << ",\"architecture\":" << quoted(recording_.architecture->name) << "},\"traceEvents\":[";
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
  void separate() {
    out_ << separator_;
    separator_ = ",\n";
  }

  void slice(std::string_view title, int process, size_t track, Picoseconds from, Picoseconds to,
             const std::string& arguments) {
    separate();
    out_ << "{\"ph\":\"X\",\"name\":" << quoted(title) << ",\"pid\":" << process
         << ",\"tid\":" << track + 1 << ",\"ts\":" << microseconds(from)
         << ",\"dur\":" << microseconds(to - from) << ",\"args\":" << arguments << "}";
  }

  void name_thread(int process, size_t track, std::string_view title) {
    separate();
    out_ << "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" << process << ",\"tid\":" << track + 1
         << ",\"args\":{\"name\":" << quoted(title) << "}}";
    separate();
    out_ << "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":" << process
         << ",\"tid\":" << track + 1 << ",\"args\":{\"sort_index\":" << track + 1 << "}}";
  }

  void names() {
    for (size_t core = 0; program_.cores.size() > 1 && core < program_.cores.size(); ++core) {
      separate();
      out_ << "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" << core
           << ",\"args\":{\"name\":\"core " << core << "\"}}";
    }
    for (size_t i = 0; i < layout_.tracks.size(); ++i) {
      const Track& track = layout_.tracks[i];
      if (track.kind != TrackKind::kRing) name_thread(track.core, i, track.name);
    }
    name_thread(0, layout_.tracks.size(), "Launch");
    name_thread(0, layout_.tracks.size() + 1, "Launch without profiler");
  }

  std::string arguments(const StepEvent& event) const {
    const Instruction& instruction = program_.instructions[event.instruction];
    std::string result = text("{\"visible_us\":", microseconds(body_ + event.span.done));
    const auto operands = program_.operands_of(instruction);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present()) continue;
      result += text(",", quoted(instruction.type->operands[i].name), ":",
                     quoted(operand_text(program_, operands[i])));
    }
    if (event.bytes > 0) result += text(",\"bytes\":", event.bytes);
    if (instruction.source_line >= 0) {
      result += text(",\"source\":", quoted(source_of(program_, instruction)));
    }
    return result + "}";
  }

  void wait(size_t index) {
    if (layout_.of_instance[index] == kNoIndex) return;
    const RecordedInstance& instance = recording_.instances[index];
    std::string arguments = "{";
    const char* separator = "";
    if (instance.bound != kNoIndex) {
      const RecordedWait& bound = recording_.waits[instance.bound];
      arguments += text("\"for\":", quoted(slot_name(bound.awaited.producer)),
                        ",\"completed_us\":", microseconds(body_ + bound.awaited.completion));
      separator = ",";
    }
    if (instance.bound != kNoIndex && recording_.waits[instance.bound].event != kNoIndex) {
      const RecordedEvent& event = recording_.events[recording_.waits[instance.bound].event];
      arguments += text(separator, "\"producer\":", quoted(event_name(program_, event.step)));
    }
    const Instruction& instruction = program_.instructions[instance.instruction];
    slice(text(instruction.type->name, " waits"), instance.core, layout_.of_instance[index],
          body_ + instance.ready, body_ + instance.start, arguments + "}");
  }

  void phases() {
    const LaunchPhases& phases = recording_.phases;
    const size_t track = layout_.tracks.size();
    for (const LaunchPhase* phase :
         {&phases.total, &phases.preamble, &phases.body, &phases.postamble}) {
      slice(phase->name, 0, track, launch_ + phase->start, launch_ + phase->end, "{}");
    }
    slice(phases.latency.name, 0, track + 1, launch_ + phases.latency.start,
          launch_ + phases.latency.end, "{}");
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
