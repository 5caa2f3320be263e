// Two cores with loops: each core's steady loops are skipped, exactly.

#include <gtest/gtest.h>

#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/timeline/timeline.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

/// Each core runs a steady loop; with barriers, five of them in a loop.
std::shared_ptr<const Program> steady_loops(bool barriers) {
  Builder builder("steady", load_architecture("trn2"));
  const View in = builder.argument("in", {2, 300, 128, 64}, Dtype::kFloat32);
  const View flag = builder.argument("flag", {2, 4}, Dtype::kFloat32);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32, 3);
      const View sum = builder.sbuf("sum", {128, 64}, Dtype::kFloat32);
      const auto steady = [&] {
        builder.loop(core == 0 ? 300 : 211, [&](const Affine& i) {
          builder.emit(DmaCopy{.dst = tile.turn(i), .src = in.select(0, core).select(0, i)});
          builder.emit(TensorCopy{sum, tile.turn(i)});
        });
      };
      steady();
      if (!barriers) return;
      builder.loop(5, [&](const Affine&) {
        builder.emit(CoreBarrier{.data = flag, .engine = EngineKind::kVector});
        steady();
      });
    });
  }
  return builder.finish();
}

TEST(Peer, SkipsSteadyLoopsOfEachCoreExactly) {
  for (const bool barriers : {false, true}) {
    const auto program = steady_loops(barriers);
    TimelineOptions options;
    const Timing skipped = simulate(*program, {}, options);
    options.skip_steady_loops = false;
    const Timing full = simulate(*program, {}, options);
    EXPECT_EQ(full.body, skipped.body);
    EXPECT_EQ(full.instances, skipped.instances);
    EXPECT_GT(skipped.skipped_instances, skipped.instances / 2);
    for (const size_t core : {0, 1}) {
      EXPECT_EQ(full.cores[core].end, skipped.cores[core].end);
      EXPECT_EQ(full.cores[core].waiting, skipped.cores[core].waiting);
      EXPECT_EQ(full.cores[core].busy, skipped.cores[core].busy);
      EXPECT_EQ(full.cores[core].dma_busy, skipped.cores[core].dma_busy);
    }
    EXPECT_EQ(full.cores[1].waiting > full.cores[0].waiting, barriers);
  }
}

TEST(Peer, LeavesCoresThatNeverMeetAsTheyAreAlone) {
  const auto build = [](bool first, bool second) {
    Builder builder("alone", load_architecture("trn2"));
    const View in = builder.argument("in", {2, 40, 128, 64}, Dtype::kFloat32);
    for (const int core : {0, 1}) {
      if (core == 0 ? !first : !second) continue;
      builder.core(core, [&] {
        const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32, 2);
        builder.loop(20 + core * 20, [&](const Affine& i) {
          builder.emit(DmaCopy{.dst = tile.turn(i), .src = in.select(0, core).select(0, i)});
          builder.emit(Memset{tile.turn(i), 0});
        });
      });
    }
    return simulate(*builder.finish());
  };
  const Timing both = build(true, true), first = build(true, false), second = build(false, true);
  EXPECT_EQ(both.cores[0].end, first.body);
  EXPECT_EQ(both.cores[1].end, second.body);
  EXPECT_EQ(both.body, std::max(first.body, second.body));
  EXPECT_EQ(both.instances, first.instances + second.instances);
}

}  // namespace
}  // namespace neuron_sim
