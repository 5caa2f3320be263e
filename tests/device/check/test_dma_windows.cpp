// A DMA may start any time after what it waits for, and end any time before what waits for it. The
// order of a program is derived from the bytes that its instructions share, so that the result
// cannot depend on where in this window a DMA lies: shown by moving all of them to either end.

#include "device/execute/plan.h"
#include "device/execute/run_instance.h"
#include "device/program/cursor.h"
#include "tests/device/check/check_programs.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

enum class Moment { kEarliest, kLatest };

/// Adds every instance to a graph.
struct Collect {
  GraphBuilder& builder;
  int64_t trip_count(const Loop& loop) const { return loop.trip_count; }
  int64_t boundary(const Loop&, uint32_t, int64_t, int64_t) const { return 0; }
  void instruction(uint32_t index, const int64_t* variables) { builder.add(index, variables); }
  void meet(const Meeting&) {}
};

/// Runs the instances one after another, all DMAs as early, or as late, as their order allows.
void run_shifted(ProgramRun& run, Moment moment) {
  const Program& program = run.program();
  GraphBuilder builder(program);
  Collect collect{builder};
  Cursor<Collect>(program, collect).walk();
  InstanceGraph graph = builder.take();
  CoreMemory* const memories[] = {&run.memory()};
  const std::vector<std::byte*> arguments = run.arguments();
  InstanceRunner runner(program, memories, arguments);
  for (const TileId tile : make_plan(program).fill) {
    runner.fill(program.tiles[static_cast<size_t>(tile)]);
  }
  const auto is_dma = [&](uint32_t id) {
    const Instruction& instruction = program.instructions[graph.instances[id].instruction];
    return program.demands[instruction.demand].steps[0].unit == Unit::kDma;
  };
  std::vector<uint32_t> ready;
  for (uint32_t id = 0; id < graph.instances.size(); ++id) {
    if (graph.waits[id] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    const auto better = [&](uint32_t a, uint32_t b) {
      if (is_dma(a) != is_dma(b)) return is_dma(a) == (moment == Moment::kEarliest);
      return a < b;
    };
    const auto next = std::min_element(ready.begin(), ready.end(), better);
    const uint32_t id = *next;
    ready.erase(next);
    runner.run(program.instructions[graph.instances[id].instruction],
               graph.locations.data() + graph.instances[id].first_location);
    for (uint32_t s = graph.first_successor[id]; s < graph.first_successor[id + 1]; ++s) {
      if (--graph.waits[graph.successors[s]] == 0) ready.push_back(graph.successors[s]);
    }
  }
}

TEST(DmaWindows, TheBytesAreThoseOfProgramOrderAtEitherEnd) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const RandomProgramOptions options{.longest_loop = 4, .blocks = 8, .dma_share = 45};
    const auto program = RandomProgram(seed, trn2(), options).build();
    ProgramRun expected(program);
    expected.randomise(seed);
    expected.interpret(make_plan(*program).fill);
    for (const Moment moment : {Moment::kEarliest, Moment::kLatest}) {
      ProgramRun run(program);
      run.randomise(seed);
      run_shifted(run, moment);
      ASSERT_EQ(run.bytes(), expected.bytes()) << "seed " << seed;
      ASSERT_EQ(run.on_chip(), expected.on_chip()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace neuron_sim
