#include "device/execute/read_ahead.h"

#include "tests/device/execute/run_program.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

constexpr int kBlocks = 12;

/// `kBlocks` blocks of a tensor, each loaded into a tile.
struct Blocks {
  Blocks() {
    for (int i = 0; i < kBlocks; ++i) {
      tiles.push_back(builder.sbuf("tile", {64, 40}, Dtype::kFloat32));
      builder.emit(DmaCopy{.dst = tiles.back(), .src = blocks.select(0, i)});
    }
  }

  Builder builder{"blocks", load_architecture("trn2")};
  View blocks = builder.argument("blocks", {kBlocks, 64, 40}, Dtype::kFloat32);
  View output = builder.argument("output", {kBlocks, 40, 64}, Dtype::kFloat32);
  View sum = builder.psum("sum", {40, 64}, Dtype::kFloat32);
  View result = builder.sbuf("result", {40, 64}, Dtype::kFloat32);
  std::vector<View> tiles;
};

/// Per product: which block it brings near, -1 for none; after a comparison
/// with an interpretation in program order.
std::vector<int64_t> brought(Blocks& blocks) {
  const std::shared_ptr<const Program> program = blocks.builder.finish();
  const ExecutionPlan plan = make_plan(*program);
  EXPECT_TRUE(is_like_interpretation(program, plan, 5));
  std::vector<int64_t> result;
  for (const PlannedInstance& instance : plan.graph.instances) {
    if (program->instructions[instance.instruction].engine != EngineKind::kTensor) continue;
    const bool none = instance.later == PlannedInstance::kNoLocation;
    result.push_back(none ? -1 : plan.graph.locations[instance.later].offset / (64 * 40 * 4));
  }
  return result;
}

TEST(ReadAhead, AProductBringsTheOperandOfTheNextOne) {
  Blocks blocks;
  const View moving = blocks.builder.sbuf("moving", {64, 64}, Dtype::kFloat32);
  blocks.builder.emit(Memset{moving, 0.5});
  for (int i = 0; i < kBlocks; ++i) {
    for (int again = 0; again < 2; ++again) {
      blocks.builder.emit(NcMatmul{
          .dst = blocks.sum, .stationary = blocks.tiles[static_cast<size_t>(i)], .moving = moving});
    }
  }
  blocks.builder.emit(TensorCopy{blocks.result, blocks.sum});
  blocks.builder.emit(DmaCopy{.dst = blocks.output.select(0, 0), .src = blocks.result});
  const std::vector<int64_t> found = brought(blocks);
  ASSERT_EQ(found.size(), 2U * kBlocks);
  EXPECT_EQ(found[1], 1);
  EXPECT_EQ(found[3], 2);
  EXPECT_EQ(found.back(), -1);
}

}  // namespace
}  // namespace neuron_sim
