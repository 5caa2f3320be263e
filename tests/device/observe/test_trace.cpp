#include "device/observe/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "tests/device/program/random_program.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

/// A small JSON reader: objects and arrays are flattened, scalars kept as their text.
class Json {
 public:
  explicit Json(const std::string& source) : source_(source) {}
  std::map<std::string, std::string> read() {
    value("");
    space();
    EXPECT_EQ(at_, source_.size()) << "text after the JSON value";
    return std::move(values_);
  }

 private:
  void space() {
    while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_]))) ++at_;
  }
  char next() {
    space();
    if (at_ >= source_.size()) throw std::runtime_error("the JSON text ends early");
    return source_[at_];
  }
  void expect(char c) {
    if (next() != c) throw std::runtime_error("unexpected character at " + std::to_string(at_));
    ++at_;
  }
  std::string string() {
    expect('"');
    std::string result;
    while (source_.at(at_) != '"') {
      if (static_cast<unsigned char>(source_[at_]) < 0x20) throw std::runtime_error("control");
      if (source_[at_] == '\\') ++at_;
      result += source_.at(at_++);
    }
    ++at_;
    return result;
  }
  void value(const std::string& path) {
    const char c = next();
    if (c == '{' || c == '[') {
      const char end = c == '{' ? '}' : ']';
      ++at_;
      for (size_t index = 0; next() != end; ++index) {
        if (index > 0) expect(',');
        std::string name = std::to_string(index);
        if (c == '{') {
          name = string();
          expect(':');
        }
        value(path + "/" + name);
      }
      ++at_;
      return;
    }
    if (c == '"') {
      values_[path] = string();
      return;
    }
    const size_t begin = at_;
    while (at_ < source_.size() && std::string("+-.0123456789eE").find(source_[at_]) < 15) ++at_;
    if (begin == at_) throw std::runtime_error("no value at " + std::to_string(at_));
    values_[path] = source_.substr(begin, at_ - begin);
  }

  const std::string& source_;
  size_t at_ = 0;
  std::map<std::string, std::string> values_;
};

int64_t picoseconds(const std::string& microseconds) {
  const size_t point = microseconds.find('.');
  EXPECT_EQ(microseconds.size(), point + 7);
  return std::stoll(microseconds.substr(0, point)) * 1'000'000 +
         std::stoll(microseconds.substr(point + 1));
}

TEST(Trace, HoldsEveryStepAndWaitOnceWithTheTimesOfTheTimeline) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    RandomProgramOptions program_options;
    program_options.longest_loop = 4;
    const auto program = RandomProgram(seed, load_architecture("trn2"), program_options).build();
    const Recording recording = record(*program);
    std::ostringstream out;
    const Timing timing = write_trace(out, *program);
    EXPECT_EQ(timing.body, simulate(*program).body);
    auto json = Json(out.str()).read();
    EXPECT_EQ(json["/otherData/kernel"], "random");
    const int64_t body = recording.phases.body.start.count;
    size_t found = 0, waits = 0;
    int64_t waited = 0;
    for (size_t i = 0; json.contains(text("/traceEvents/", i, "/ph")); ++i) {
      const std::string event = text("/traceEvents/", i);
      if (json[event + "/ph"] != "X") continue;
      if (found < recording.events.size()) {
        const Span& expected = recording.events[found++].step.span;
        EXPECT_EQ(picoseconds(json[event + "/ts"]), body + expected.start.count);
        EXPECT_EQ(picoseconds(json[event + "/dur"]), (expected.end - expected.start).count);
        EXPECT_EQ(picoseconds(json[event + "/args/visible_us"]), body + expected.done.count);
      } else if (json[event + "/name"].ends_with(" waits")) {
        ++waits;
        waited += picoseconds(json[event + "/dur"]);
      }
    }
    EXPECT_EQ(found, recording.events.size());
    for (const RecordedInstance& instance : recording.instances) {
      waits -= instance.start > instance.ready ? 1 : 0;
      waited -= (instance.start - instance.ready).count;
    }
    EXPECT_EQ(waits, 0U);
    EXPECT_EQ(waited, 0);
  }
}

TEST(Trace, EndsWithTheTotalTimeOfTheProfiler) {
  const auto program = RandomProgram(3, load_architecture("trn2"), {}).build();
  std::ostringstream out;
  const Timing timing = write_trace(out, *program);
  auto json = Json(out.str()).read();
  std::map<std::string, std::pair<int64_t, int64_t>> phases;
  int64_t last = 0;
  for (size_t i = 0; json.contains(text("/traceEvents/", i, "/ph")); ++i) {
    const std::string event = text("/traceEvents/", i);
    if (json[event + "/ph"] != "X") continue;
    const int64_t start = picoseconds(json[event + "/ts"]);
    const int64_t duration = picoseconds(json[event + "/dur"]);
    phases[json[event + "/name"]] = {start, duration};
    last = std::max(last, start + duration);
  }
  const Architecture& architecture = *program->architecture;
  EXPECT_EQ(phases["total_time"], std::pair(int64_t{0}, timing.profile(architecture).count));
  EXPECT_EQ(phases["nc_latency"].second, timing.benchmark(architecture).count);
  EXPECT_EQ(phases["body"].second, timing.body.count);
  EXPECT_EQ(last, timing.profile(architecture).count);
  const int64_t parts =
      phases["preamble"].second + phases["body"].second + phases["postamble"].second;
  EXPECT_EQ(parts, phases["total_time"].second);
}

/// How often two slices of one thread of a trace overlap without nesting.
int overlaps(std::map<std::string, std::string>& json) {
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> threads;  // start, -end
  for (size_t i = 0; json.contains(text("/traceEvents/", i, "/ph")); ++i) {
    const std::string event = text("/traceEvents/", i);
    if (json[event + "/ph"] != "X") continue;
    const int64_t start = picoseconds(json[event + "/ts"]);
    threads[json[event + "/pid"] + " " + json[event + "/tid"]].emplace_back(
        start, -start - picoseconds(json[event + "/dur"]));
  }
  int found = 0;
  for (auto& [thread, slices] : threads) {
    std::ranges::sort(slices);
    std::vector<int64_t> open;
    for (const auto& [start, end] : slices) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      found += !open.empty() && -end > open.back();
      open.push_back(-end);
    }
  }
  return found;
}

TEST(Trace, SlicesOfATrackFollowEachOtherOrNest) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    std::ostringstream out;
    write_trace(out, *RandomProgram(seed, load_architecture("trn2"), {}).build());
    auto json = Json(out.str()).read();
    EXPECT_EQ(overlaps(json), 0);
  }
}

TEST(Trace, TransfersAtTheSameTimeAreOnLanesOfTheirQueue) {
  Builder builder("loads", load_architecture("trn2"));
  const View source = builder.argument("source", {128, 1024}, Dtype::kFloat32);
  for (int i = 0; i < 3; ++i) {
    const View tile = builder.sbuf(text("tile", i), {128, 1024}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = tile, .src = source});
  }
  std::ostringstream out;
  write_trace(out, *builder.finish());
  auto json = Json(out.str()).read();
  EXPECT_EQ(overlaps(json), 0);
  std::set<std::string> queues;
  for (size_t i = 0; json.contains(text("/traceEvents/", i, "/ph")); ++i) {
    const std::string event = text("/traceEvents/", i);
    if (json[event + "/name"] != "thread_name") continue;
    const std::string track = json[event + "/args/name"];
    if (track.starts_with("q")) queues.insert(track);
  }
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(*queues.rbegin(), *queues.begin() + ", 2");
}

TEST(Trace, EscapesNamesAndMovesToTheStartOfTheProgram) {
  Builder builder("a \"kernel\" \\ with\nlines", load_architecture("trn2"));
  builder.set_source_line("say(\"x\")\t# \\n");
  builder.emit(Memset{builder.sbuf("t\"", {1, 4}, Dtype::kFloat32), 0});
  const auto program = builder.finish();
  const Recording recording = record(*program);
  ASSERT_EQ(recording.events.size(), 1u);
  std::ostringstream out;
  write_trace(out, recording, Picoseconds{5'000'001});
  const std::string source = out.str();
  auto json = Json(source).read();
  EXPECT_EQ(json["/otherData/kernel"], "a \"kernel\" \\ with lines");
  std::string event = "/traceEvents/0";
  for (size_t i = 0; json[event + "/ph"] != "X"; ++i) event = text("/traceEvents/", i);
  EXPECT_EQ(json[event + "/args/source"], "say(\"x\") # \\n");
  EXPECT_EQ(picoseconds(json[event + "/ts"]), 5'000'001 + recording.phases.body.start.count);
  EXPECT_EQ(json[event + "/name"], "memset");
}

TEST(Trace, ShowsTheCoresOfAProgramAsProcesses) {
  Builder builder("pair", load_architecture("trn2"));
  const View data = builder.argument("data", {1, 4}, Dtype::kFloat32);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View t = builder.sbuf("t", {1, 4}, Dtype::kFloat32);
      const View u = builder.sbuf("u", {1, 4}, Dtype::kFloat32);
      builder.emit(Memset{t, 0});
      builder.emit(CoreBarrier{.data = data});
      builder.emit(exchange_of(core, u, t));
    });
  }
  std::ostringstream out;
  write_trace(out, *builder.finish());
  const std::string source = out.str();
  auto json = Json(source).read();
  std::map<std::string, std::vector<std::string>> steps;
  std::map<std::string, std::string> processes;
  for (size_t i = 0; json.contains(text("/traceEvents/", i, "/ph")); ++i) {
    const std::string event = text("/traceEvents/", i);
    const std::string process = json[event + "/pid"];
    if (json[event + "/name"] == "process_name") processes[process] = json[event + "/args/name"];
    const std::string step = json[event + "/name"];
    const bool shown = json[event + "/ph"] == "X" && json.contains(event + "/args/visible_us");
    if (shown) steps[process].push_back(step);
  }
  EXPECT_EQ(processes, (std::map<std::string, std::string>{{"0", "core 0"}, {"1", "core 1"}}));
  const std::vector<std::string> expected = {"memset", "core_barrier", "sendrecv trigger",
                                             "sendrecv"};
  EXPECT_EQ(steps["0"], expected);
  EXPECT_EQ(steps["1"], expected);
}

}  // namespace
}  // namespace neuron_sim
