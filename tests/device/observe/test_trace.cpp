#include "device/observe/trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "tests/device/program/random_program.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

using Json = nlohmann::json;

int64_t picoseconds(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e6);
}

/// The slices of a trace, in the order of the file.
std::vector<Json> slices(const Json& trace) {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") found.push_back(event);
  }
  return found;
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
    const Json trace = Json::parse(out.str());
    EXPECT_EQ(trace.at("otherData").at("kernel"), "random");
    const int64_t body = recording.phases.body.start.count;
    size_t found = 0, waits = 0;
    int64_t waited = 0;
    for (const Json& slice : slices(trace)) {
      if (found < recording.events.size()) {
        const Span& expected = recording.events[found++].step.span;
        EXPECT_EQ(picoseconds(slice.at("ts")), body + expected.start.count);
        EXPECT_EQ(picoseconds(slice.at("dur")), (expected.end - expected.start).count);
        EXPECT_EQ(picoseconds(slice.at("args").at("visible_us")), body + expected.done.count);
      } else if (slice.at("name").get<std::string>().ends_with(" waits")) {
        ++waits;
        waited += picoseconds(slice.at("dur"));
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
  std::map<std::string, std::pair<int64_t, int64_t>> phases;
  int64_t last = 0;
  for (const Json& slice : slices(Json::parse(out.str()))) {
    const int64_t start = picoseconds(slice.at("ts"));
    const int64_t duration = picoseconds(slice.at("dur"));
    phases[slice.at("name")] = {start, duration};
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
int overlaps(const Json& trace) {
  using Thread = std::pair<int, int>;                                  // process, thread
  std::map<Thread, std::vector<std::pair<int64_t, int64_t>>> threads;  // start, -end
  for (const Json& slice : slices(trace)) {
    const int64_t start = picoseconds(slice.at("ts"));
    threads[{slice.at("pid"), slice.at("tid")}].emplace_back(start,
                                                             -start - picoseconds(slice.at("dur")));
  }
  int found = 0;
  for (auto& [thread, spans] : threads) {
    std::ranges::sort(spans);
    std::vector<int64_t> open;
    for (const auto& [start, end] : spans) {
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
    EXPECT_EQ(overlaps(Json::parse(out.str())), 0);
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
  const Json trace = Json::parse(out.str());
  EXPECT_EQ(overlaps(trace), 0);
  std::set<std::string> queues;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("name") != "thread_name") continue;
    const std::string track = event.at("args").at("name");
    if (track.starts_with("q")) queues.insert(track);
  }
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(*queues.rbegin(), *queues.begin() + ", 2");
}

TEST(Trace, EscapesNamesAndMovesToTheStartOfTheProgram) {
  Builder builder("a \"kernel\" \\ with\nlines \xff", load_architecture("trn2"));
  builder.set_source_line("say(\"x\")\t# \\n");
  builder.emit(Memset{builder.sbuf("t\"", {1, 4}, Dtype::kFloat32), 0});
  const auto program = builder.finish();
  const Recording recording = record(*program);
  ASSERT_EQ(recording.events.size(), 1u);
  std::ostringstream out;
  write_trace(out, recording, Picoseconds{5'000'001});
  const Json trace = Json::parse(out.str());
  EXPECT_EQ(trace.at("otherData").at("kernel"), "a \"kernel\" \\ with\nlines \ufffd");
  const Json slice = slices(trace).front();
  EXPECT_EQ(slice.at("args").at("source"), "say(\"x\")\t# \\n");
  EXPECT_EQ(picoseconds(slice.at("ts")), 5'000'001 + recording.phases.body.start.count);
  EXPECT_EQ(slice.at("name"), "memset");
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
  std::map<int, std::vector<std::string>> instructions;
  std::map<int, std::string> processes;
  const Json trace = Json::parse(out.str());
  for (const Json& event : trace.at("traceEvents")) {
    const int process = event.at("pid");
    if (event.at("name") == "process_name") processes[process] = event.at("args").at("name");
    const bool shown = event.at("ph") == "X" && event.at("args").contains("visible_us");
    if (shown) instructions[process].push_back(event.at("name"));
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "core 0"}, {1, "core 1"}}));
  const std::vector<std::string> expected = {"memset", "core_barrier", "sendrecv trigger",
                                             "sendrecv"};
  EXPECT_EQ(instructions[0], expected);
  EXPECT_EQ(instructions[1], expected);
}

}  // namespace
}  // namespace neuron_sim
