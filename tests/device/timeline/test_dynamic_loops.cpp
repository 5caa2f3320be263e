// The time of loops on registers: from a run's log, from registers that hold constants, from an
// assumption; edges between instructions.

#include <gtest/gtest.h>

#include <cstdlib>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/compiler/settings/pass_settings.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/runtime/kernel.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

constexpr const char* kUnknown = "the time of kernel 'k' depends on data: a ";
constexpr const char* kHow =
    " runs as often as a register says that is loaded from memory, and nothing was computed; run "
    "the kernel, or say with NEURON_SIM_DYNAMIC_TRIPS how many iterations to assume.\n  at k.py:9";

std::string message_of(const Program& program, const TimelineOptions& options = {}) {
  try {
    simulate(program, {}, options);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

/// Makes a loop around one memset on GpSimd.
template <typename Open>
std::shared_ptr<const Program> loop_program(const Open& open) {
  Builder builder("k", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {128, 512}, Dtype::kFloat32);
  const View count = builder.argument("count", {1, 1}, Dtype::kInt32);
  builder.set_source_line("k.py:9");
  open(builder, count);
  builder.emit(Memset{.dst = tile, .value = 1, .engine = EngineKind::kGpSimd});
  builder.close_loop();
  return builder.finish();
}

std::shared_ptr<const Program> loaded_range() {
  return loop_program([](Builder& builder, const View& count) {
    const int stop = builder.allocate_register();
    builder.emit(RegisterLoad{.dst = stop, .src = count});
    builder.open_range(builder.allocate_register(), {}, {0, static_cast<int16_t>(stop)}, 1);
  });
}

std::shared_ptr<const Program> loaded_while() {
  return loop_program([](Builder& builder, const View& count) {
    const int condition = builder.allocate_register();
    builder.emit(RegisterLoad{.dst = condition, .src = count});
    builder.open_while(condition);
    builder.emit(RegisterLoad{.dst = condition, .src = count});
  });
}

int64_t memsets(const Timing& timing) {
  return timing.instructions[static_cast<size_t>(EngineKind::kGpSimd)];
}

TEST(DynamicRangeTime, FollowsTheLog) {
  const auto program = loaded_range();
  Picoseconds before{-1};
  for (const int64_t trips : {0, 1, 2, 50, 1000}) {
    const Timing timing = simulate(*program, {{trips}});
    EXPECT_EQ(memsets(timing), trips);
    EXPECT_GT(timing.body, before);
    before = timing.body;
    EXPECT_EQ(simulate(*program, {{trips}}, {.skip_steady_loops = false}).body, timing.body);
  }
}

TEST(WhileLoopTime, FollowsTheLog) {
  const auto program = loaded_while();
  const Picoseconds none = simulate(*program, {{0}}).body;
  const Timing three = simulate(*program, {{1, 1, 1, 0}});
  EXPECT_EQ(memsets(three), 3);
  EXPECT_GT(three.body, none);
}

TEST(WhileLoopTime, AllEnginesWaitForTheCondition) {
  // The next memset of GpSimd starts after the sequencer loaded the condition again.
  struct Recorder : TimelineObserver {
    void step(const Program& program, const StepEvent& event) override {
      if (event.kind != EventKind::kStep) return;
      const bool load = program.instructions[event.instruction].type == &kRegisterLoad;
      (load ? loads : memsets).push_back(event.span);
    }
    std::vector<Span> loads, memsets;
  } recorder;
  const auto program = loaded_while();
  simulate(*program, {{1, 1, 0}}, {.observer = &recorder});
  ASSERT_EQ(recorder.memsets.size(), 2U);
  ASSERT_EQ(recorder.loads.size(), 3U);
  EXPECT_GE(recorder.memsets[0].start, recorder.loads[0].done);
  EXPECT_GE(recorder.memsets[1].start, recorder.loads[1].done);
}

TEST(LoopForecast, KnowsRegistersThatHoldConstants) {
  for (const int64_t step : {1, 3}) {
    const auto program = loop_program([step](Builder& builder, const View&) {
      const int start = builder.allocate_register(), stop = builder.allocate_register();
      builder.emit(RegisterMove{.dst = stop, .src = 17});
      builder.emit(RegisterMove{.dst = start, .src_register = stop});
      builder.emit(RegisterMove{.dst = stop, .src = 40});
      builder.open_range(builder.allocate_register(), {0, static_cast<int16_t>(start)},
                         {0, static_cast<int16_t>(stop)}, step);
    });
    EXPECT_EQ(memsets(simulate(*program)), (40 - 17 + step - 1) / step);
  }
}

TEST(LoopForecast, RefusesWhatOnlyMemoryKnows) {
  EXPECT_EQ(message_of(*loaded_range()), text(kUnknown, "loop", kHow));
  EXPECT_EQ(message_of(*loaded_while()), text(kUnknown, "while loop", kHow));
}

TEST(LoopForecast, TakesTheIterationsThatTheUserAssumes) {
  for (const int64_t trips : {0, 1, 9}) {
    EXPECT_EQ(memsets(simulate(*loaded_range(), {}, {.dynamic_trips = trips})), trips);
    EXPECT_EQ(memsets(simulate(*loaded_while(), {}, {.dynamic_trips = trips})), trips);
  }
  setenv("NEURON_SIM_DYNAMIC_TRIPS", "4", 1);
  EXPECT_EQ(memsets(simulate(*loaded_range())), 4);
  setenv("NEURON_SIM_DYNAMIC_TRIPS", "-4", 1);
  EXPECT_EQ(message_of(*loaded_range()),
            "NEURON_SIM_DYNAMIC_TRIPS is '-4'; it is a number of iterations from 0 to "
            "1099511627775.");
  unsetenv("NEURON_SIM_DYNAMIC_TRIPS");
}

TEST(LoopForecast, ASettingThatChangesIsNoEarlierTimeOfAKernel) {
  const Kernel kernel(loaded_range());
  for (const int64_t trips : {4, 9, 4}) {
    setenv("NEURON_SIM_DYNAMIC_TRIPS", text(trips).c_str(), 1);
    EXPECT_EQ(memsets(kernel.timing()), trips);
  }
  EXPECT_EQ(kernel.simulations(), 2);  // the second 4 is the first
  unsetenv("NEURON_SIM_DYNAMIC_TRIPS");
  EXPECT_THROW(kernel.timing(), KernelError);
}

TEST(LoopForecast, FindsAWhileLoopThatCannotEnd) {
  const auto program = loop_program([](Builder& builder, const View&) {
    const int condition = builder.allocate_register();
    builder.emit(RegisterMove{.dst = condition, .src = 2});
    builder.open_while(condition);
  });
  EXPECT_EQ(
      message_of(*program),
      "while loop of kernel 'k' does not end: its register holds 2 after 4096 iterations, and "
      "nothing of it is from memory.\n  at k.py:9");
}

TEST(LoopForecast, FollowsConstantsThroughTheIterations) {
  const auto program = loop_program([](Builder& builder, const View&) {
    const int first = builder.allocate_register(), second = builder.allocate_register();
    for (const int index : {first, second}) builder.emit(RegisterMove{.dst = index, .src = 5});
    builder.open_while(first);
    builder.emit(RegisterMove{.dst = first, .src_register = second});
    builder.emit(RegisterMove{.dst = second, .src = 0});
  });
  EXPECT_EQ(memsets(simulate(*program)), 2);
}

TEST(LoopForecast, SkipsAWhileLoopThatNeverBegins) {
  const auto program = loop_program([](Builder& builder, const View&) {
    builder.open_while(builder.allocate_register());  // 0 at the start of a program
  });
  EXPECT_EQ(memsets(simulate(*program)), 0);
}

/// A memset on Vector and one on GpSimd, which share no bytes; the second may wait for the first.
std::shared_ptr<const Program> pair_program(bool edge, EngineKind second = EngineKind::kGpSimd) {
  Builder builder("pair", load_architecture("trn2"));
  const View a = builder.sbuf("a", {128, 512}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {128, 512}, Dtype::kFloat32);
  const View out = builder.argument("out", {256, 512}, Dtype::kFloat32);
  builder.emit(Memset{.dst = a, .value = 1, .engine = EngineKind::kVector});
  builder.emit(Memset{.dst = b, .value = 2, .engine = second});
  if (edge) builder.add_edge(1, 0);
  builder.emit(DmaCopy{.dst = out.slice(0, 0, 128), .src = a});
  builder.emit(DmaCopy{.dst = out.slice(0, 128, 128), .src = b});
  return builder.finish();
}

struct Steps : TimelineObserver {
  void step(const Program& program, const StepEvent& event) override {
    if (event.kind != EventKind::kStep) return;
    if (program.instructions[event.instruction].type == &kMemset) spans.push_back(event.span);
  }
  std::vector<Span> spans;
};

TEST(SchedulingEdge, MakesTheConsumerWaitForTheEndOfItsProducer) {
  Steps free, ordered;
  simulate(*pair_program(false), {}, {.observer = &free});
  simulate(*pair_program(true), {}, {.observer = &ordered});
  EXPECT_LT(free.spans[1].start, free.spans[0].done);
  EXPECT_GE(ordered.spans[1].start, ordered.spans[0].done);
}

TEST(SchedulingEdge, CostsNothingOnOneEngine) {
  const auto body = [](bool edge) {
    return simulate(*pair_program(edge, EngineKind::kVector)).body;
  };
  EXPECT_EQ(body(true), body(false));
}

TEST(SchedulingEdge, StaysThroughThePassesOfTheCompiler) {
  for (const char* stack : {"neuronx-cc trn2", "neuronx-cc trn2 direct"}) {
    const PassSettings& settings = published_stack(stack).settings;
    const Compiled compiled = compile(pair_program(true), settings);
    EXPECT_EQ(compiled.unchanged, "");
    ASSERT_EQ(compiled.program->edges.size(), 1U) << stack;
    Steps ordered;
    simulate(*compiled.program, {}, {.observer = &ordered});
    ASSERT_EQ(ordered.spans.size(), 2U);
    EXPECT_GE(std::max(ordered.spans[0].start, ordered.spans[1].start),
              std::min(ordered.spans[0].done, ordered.spans[1].done));
  }
}

TEST(SchedulingEdge, HoldsInEveryIteration) {
  const auto spans = [](bool edge) {
    Builder builder("loop", load_architecture("trn2"));
    const View a = builder.sbuf("a", {128, 512}, Dtype::kFloat32);
    const View b = builder.sbuf("b", {128, 512}, Dtype::kFloat32);
    builder.open_loop(20);
    builder.emit(Memset{.dst = a, .value = 1, .engine = EngineKind::kVector});
    builder.emit(Memset{.dst = b, .value = 2, .engine = EngineKind::kGpSimd});
    if (edge) builder.add_edge(1, 0);
    builder.close_loop();
    Steps steps;
    const auto program = builder.finish();
    const Timing observed = simulate(*program, {}, {.observer = &steps});
    EXPECT_EQ(simulate(*program).body, observed.body);  // skipped or not
    return steps.spans;
  };
  const std::vector<Span> ordered = spans(true);
  ASSERT_EQ(ordered.size(), 40U);
  for (size_t i = 0; i < 40; i += 2) EXPECT_GE(ordered[i + 1].start, ordered[i].done);
}

TEST(SchedulingEdge, IsRefusedWhereItCannotHold) {
  Builder builder("edges", load_architecture("trn2"));
  const View a = builder.sbuf("a", {128, 512}, Dtype::kFloat32);
  const auto refusal = [&](size_t consumer, size_t producer) -> std::string {
    try {
      builder.add_edge(consumer, producer);
    } catch (const KernelError& error) {
      return error.what();
    }
    return "";
  };
  builder.emit(Memset{.dst = a, .value = 1});
  builder.open_loop(3);
  builder.emit(Memset{.dst = a, .value = 2});
  builder.close_loop();
  builder.emit(TensorCopy{.dst = a.slice(1, 0, 2), .src = a.slice(1, 2, 2)});
  EXPECT_EQ(refusal(1, 0), "");  // from outside into the loop
  EXPECT_EQ(refusal(2, 1),
            "scheduling edge of kernel 'edges': 'tensor_copy' waits for 'memset', which is inside "
            "a loop on chip that 'tensor_copy' is not in: it could wait for what never runs.");
  EXPECT_EQ(refusal(0, 2),
            "scheduling edge of kernel 'edges': 'memset' waits for 'tensor_copy', which is after "
            "it in the order of the program.");
  EXPECT_EQ(refusal(2, 2), "scheduling edge of kernel 'edges': 'tensor_copy' waits for itself.");
  EXPECT_EQ(refusal(2, 3),
            "scheduling edge of kernel 'edges': instruction 3 does not exist; there are 3.");
}

}  // namespace
}  // namespace neuron_sim
