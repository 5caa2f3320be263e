#include "device/compiler/line/loop_runs.h"

#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

std::vector<std::pair<uint32_t, uint32_t>> bounds(const StraightLine& line, size_t level) {
  std::vector<std::pair<uint32_t, uint32_t>> result;
  for (const LoopRun& run : runs_at(line, level)) result.emplace_back(run.begin, run.end);
  return result;
}

using Bounds = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(LoopRuns, EveryExecutionOfALoopIsARun) {
  Builder builder("nest", load_architecture("trn2"));
  const View x = builder.sbuf("x", {128, 8}, Dtype::kFloat32);
  const auto set = [&](const Affine&) { builder.emit(Memset{x, 1}); };
  builder.emit(Memset{x, 1});  // 0
  builder.loop(2, [&](const Affine& i) {
    set(i);                // 1, 5
    builder.loop(3, set);  // 2 to 4, 6 to 8
  });
  builder.loop(2, set);  // 9, 10: another loop
  StraightLine line = *unroll(*builder.finish()).line;
  EXPECT_EQ(bounds(line, 0), (Bounds{{1, 9}, {9, 11}}));
  EXPECT_EQ(bounds(line, 1), (Bounds{{2, 5}, {6, 9}}));
  EXPECT_EQ(bounds(line, 2), Bounds{});
  // Instances that a pass took out of their place are a run of their own.
  std::swap(line.instructions[0], line.instructions[3]);
  EXPECT_EQ(bounds(line, 1), (Bounds{{0, 1}, {2, 3}, {4, 5}, {6, 9}}));
}

}  // namespace
}  // namespace neuron_sim
