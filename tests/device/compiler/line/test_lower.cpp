#include <algorithm>

#include "device/compiler/line/meetings.h"
#include "device/compiler/line/straight_line.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/compiler/two_core_kernel.h"

namespace neuron_sim {
namespace {

std::shared_ptr<const Program> unrolled(const Program& program) {
  std::vector<StraightLine> lines;
  for (size_t core = 0; core < program.cores.size(); ++core) {
    lines.push_back(*unroll(program, core).line);
  }
  return lower(std::move(lines));
}

TEST(Lower, UnrollingTwoCoresChangesNeitherBytesNorTimes) {
  for (const DmaEngine dma_engine : {DmaEngine::kDma, DmaEngine::kGpSimdDma}) {
    for (const int64_t columns : {1, 33, 96}) {
      TwoCoreSizes sizes{.columns = columns, .dma_engine = dma_engine};
      if (columns == 33) sizes.dtype = Dtype::kBfloat16;
      const auto program = TwoCoreKernel(sizes).build();
      const auto straight = unrolled(*program);
      EXPECT_TRUE(straight->loops.empty());
      ASSERT_EQ(straight->cores.size(), 2U);
      EXPECT_EQ(bytes_after(program), bytes_after(straight)) << columns;
      EXPECT_EQ(simulate(*program).body.count, simulate(*straight).body.count) << columns;
    }
  }
}

TEST(Lower, TensorsAreSharedAndTilesBelongToTheirCore) {
  const auto program = TwoCoreKernel({}).build();
  const auto straight = unrolled(*program);
  const auto count = [&](const Program& of, auto&& wanted) {
    return std::count_if(of.tiles.begin(), of.tiles.end(), wanted);
  };
  const auto in_hbm = [](const Tile& tile) { return tile.memory == MemoryKind::kHbm; };
  EXPECT_EQ(count(*straight, in_hbm), count(*program, in_hbm));
  EXPECT_EQ(straight->scratch.size(), 1U);
  for (const uint8_t core : {0, 1}) {
    const auto of_core = [&](const Tile& tile) { return is_on_chip(tile) && tile.core == core; };
    EXPECT_EQ(count(*straight, of_core), count(*program, of_core)) << int{core};
    for (const Node& node : straight->cores[core]) {
      EXPECT_EQ(straight->instructions[node.index].core, core);
    }
  }
}

TEST(Lower, MeetingsOfALineAloneAreInstructionsWithEdges) {
  const auto program = TwoCoreKernel({.rounds = 2}).build();
  const auto alone = lower(*unroll(*program, 1).line);
  ASSERT_EQ(alone->cores.size(), 1U);
  EXPECT_FALSE(synchronises(*alone, alone->cores[0]));
  // Per round the store after the exchange and before a barrier, the load after that one and before
  // the next one.
  EXPECT_EQ(alone->edges.size(), 8U);
  EXPECT_TRUE(unrolled(*program)->edges.size() < alone->edges.size());
}

TEST(Lower, InstancesThatShareOperandsHaveTheirOwnInTheProgram) {
  const auto program = TwoCoreKernel({.rounds = 2}).build();
  StraightLine line = *unroll(*program, 0).line;
  for (size_t i = 1; i < line.instructions.size(); ++i) {
    const Instruction& earlier = line.instructions[i - 1].instruction;
    Instruction& instruction = line.instructions[i].instruction;
    if (earlier.type != instruction.type) continue;
    instruction.first_operand = earlier.first_operand;
    const auto lowered = lower(line);
    const Instruction &first = lowered->instructions[i - 1], &second = lowered->instructions[i];
    EXPECT_EQ(second.first_operand, first.first_operand + first.operand_count);
    const auto a = lowered->operands_of(first), b = lowered->operands_of(second);
    for (size_t o = 0; o < a.size(); ++o) {
      EXPECT_EQ(a[o].tile, b[o].tile);
      EXPECT_EQ(a[o].region, b[o].region);
    }
    return;
  }
  FAIL() << "no two instructions of a type follow each other";
}

}  // namespace
}  // namespace neuron_sim
