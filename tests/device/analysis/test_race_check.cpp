#include "device/analysis/race_check.h"

#include <gtest/gtest.h>

#include "device/isa/dma/collective.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/sequencing/register_load.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

/// A kernel on tensor `x` [16, 32] fp32 (rows of 128 bytes) and `y`; each core has tiles.
class Bench {
 public:
  Bench()
      : builder("race", load_architecture("trn2")),
        x(builder.argument("x", {16, 32}, Dtype::kFloat32)),
        y(builder.argument("y", {16, 32}, Dtype::kFloat32)) {
    for (const int core : {0, 1}) {
      builder.core(core, [&] {
        tile[core] = builder.sbuf("t", {16, 32}, Dtype::kFloat32);
        other[core] = builder.sbuf("u", {16, 32}, Dtype::kFloat32);
      });
    }
  }
  View part(int core, const View& tensor) const {
    return tile[core].slice(0, 0, tensor.size(0)).slice(1, 0, tensor.size(1));
  }
  void write(int core, const View& to, EngineKind engine = EngineKind::kSync) {
    builder.core(
        core, [&] { builder.emit(DmaCopy{.dst = to, .src = part(core, to), .engine = engine}); });
  }
  void read(int core, const View& from, EngineKind engine = EngineKind::kSync) {
    builder.core(core, [&] {
      builder.emit(DmaCopy{.dst = part(core, from), .src = from, .engine = engine});
    });
  }
  void barrier(const View& data) {
    for (const int core : {0, 1}) {
      builder.core(core, [&] { builder.emit(CoreBarrier{.data = data}); });
    }
  }
  /// y = x, reduced over two ranks.
  void reduce(int core) {
    const auto groups = std::make_shared<const ReplicaGroups>(ReplicaGroups{{{0, 1}}});
    builder.core(core, [&] { builder.emit(Collective{CollectiveKind::kAllReduce, y, x, groups}); });
  }
  std::string error() { return finish_error(builder); }

  Builder builder;
  View x, y, tile[2], other[2];
};

std::string sentence(const char* first, const char* second, int64_t begin, int64_t end,
                     const char* tensor = "x", const char* instruction = "dma_copy") {
  return text("race on tensor '", tensor, "' of kernel 'race': 'dma_copy' of core 0 ", first,
              " and '", instruction, "' of core 1 ", second, " bytes ", begin, " to ", end,
              ", and no core_barrier on the tensor orders them.");
}

TEST(RaceCheck, FindsWritesThatMeetWritesOrReads) {
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      Bench bench;
      first ? bench.write(0, bench.x.slice(0, 4, 4)) : bench.read(0, bench.x.slice(0, 4, 4));
      second ? bench.write(1, bench.x.slice(0, 7, 3)) : bench.read(1, bench.x.slice(0, 7, 3));
      EXPECT_EQ(bench.error(), first || second
                                   ? sentence(first ? "writes" : "reads",
                                              second ? "writes" : "reads", 7 * 128, 8 * 128 - 1)
                                   : "");
    }
  }
}

TEST(RaceCheck, NamesTheSourceLines) {
  Bench bench;
  bench.builder.set_source_line("kernel.py:3");
  bench.write(0, bench.x);
  bench.builder.set_source_line("kernel.py:4");
  bench.read(1, bench.x);
  EXPECT_EQ(bench.error(),
            sentence("writes", "reads", 0, 16 * 128 - 1) + "\n  at kernel.py:3\n  at kernel.py:4");
}

TEST(RaceCheck, CoresThatRunOneLineMayWriteTheSameBytes) {
  const auto error = [](int second_line, int64_t second_row, bool reads_before) {
    Bench bench;
    const View rows = bench.x.slice(0, 0, 4);
    if (reads_before) bench.read(1, rows);
    bench.builder.set_source_line("kernel.py:3");
    bench.write(0, rows);
    bench.builder.set_source_line(text("kernel.py:", second_line));
    bench.write(1, bench.x.slice(0, second_row, 4));
    bench.read(1, rows);
    return bench.error();
  };
  EXPECT_EQ(error(3, 0, false), "");
  EXPECT_NE(error(4, 0, false), "");  // another line, perhaps other values
  EXPECT_NE(error(3, 1, false), "");  // other bytes
  EXPECT_NE(error(3, 0, true), "");   // read before the own write
}

TEST(RaceCheck, ComparesBytesExactly) {
  const auto error = [](int64_t column, int64_t step) {
    Bench bench;
    bench.write(0, bench.x.slice(1, 0, 8, 4));  // columns 0, 4, 8, ...
    bench.write(1, bench.x.slice(1, column, 4, step));
    return bench.error();
  };
  EXPECT_EQ(error(1, 4), "");
  EXPECT_EQ(error(3, 8), "");
  EXPECT_EQ(error(2, 8), "");
  EXPECT_EQ(error(4, 8), sentence("writes", "writes", 16, 19));
  EXPECT_EQ(error(1, 6), "");                                    // 1, 7, 13, 19
  EXPECT_EQ(error(1, 5), sentence("writes", "writes", 64, 67));  // column 16, the last
  EXPECT_EQ(error(1, 7), sentence("writes", "writes", 32, 35));  // column 8
  Bench disjoint;
  disjoint.write(0, disjoint.x.slice(0, 0, 8));
  disjoint.write(1, disjoint.x.slice(0, 8, 8));
  EXPECT_EQ(disjoint.error(), "");
}

TEST(RaceCheck, AnEdgeFromAMeetingOrdersWhatFollows) {
  for (const bool edge : {false, true}) {
    Bench bench;
    bench.write(0, bench.x);
    bench.barrier(bench.y);  // core 1's is the last instruction
    const size_t barrier = bench.builder.instruction_count() - 1;
    bench.read(1, bench.x);
    if (edge) bench.builder.add_edge(barrier + 1, barrier);
    EXPECT_EQ(bench.error(), edge ? "" : sentence("writes", "reads", 0, 16 * 128 - 1));
  }
}

TEST(RaceCheck, ComparesEveryIterationOfLoops) {
  const auto error = [](int64_t shift) {
    Bench bench;
    for (const int core : {0, 1}) {
      bench.builder.core(core, [&] {
        bench.builder.loop(7, [&](const Affine& i) {  // rows 0, 2, ..., 12 against shifted ones
          const View row = bench.x.slice(0, i * 2 + (core == 0 ? 0 : shift), 1);
          bench.builder.emit(DmaCopy{.dst = row, .src = bench.part(core, row)});
        });
      });
    }
    return bench.error();
  };
  EXPECT_EQ(error(1), "");
  EXPECT_EQ(error(3), "");
  EXPECT_EQ(error(2), sentence("writes", "writes", 2 * 128, 3 * 128 - 1));
}

TEST(RaceCheck, IsSilencedByABarrierOnTheTensorBetween) {
  for (const int writer : {0, 1}) {
    Bench ordered;
    ordered.write(writer, ordered.x);
    ordered.barrier(ordered.x);
    ordered.read(1 - writer, ordered.x);
    EXPECT_EQ(ordered.error(), "");
    Bench late;
    late.barrier(late.x);
    late.write(writer, late.x);
    late.read(1 - writer, late.x);
    EXPECT_EQ(late.error(), writer == 0 ? sentence("writes", "reads", 0, 2047)
                                        : sentence("reads", "writes", 0, 2047));
  }
}

TEST(RaceCheck, FindsReadsThatDoNotWaitForTheBarrier) {
  const auto error = [](bool same_tensor, EngineKind reader) {
    Bench bench;
    bench.write(0, bench.x);
    bench.barrier(same_tensor ? bench.x : bench.y);
    bench.read(1, bench.x, reader);
    return bench.error();
  };
  EXPECT_EQ(error(true, EngineKind::kSync), "");
  EXPECT_EQ(error(false, EngineKind::kSync), sentence("writes", "reads", 0, 2047));
  EXPECT_EQ(error(false, EngineKind::kGpSimd), "");  // after the barrier on its engine
}

TEST(RaceCheck, CoversOnlyThePartOfTheTensorThatTheBarrierNames) {
  const auto error = [](int64_t rows) {
    Bench bench;
    bench.write(0, bench.x.slice(0, 0, 8));
    bench.barrier(bench.x.slice(0, 0, rows));
    bench.builder.core(1, [&] {
      bench.builder.emit(
          DmaCopy{.dst = bench.tile[1].slice(0, 0, 1), .src = bench.x.slice(0, 7, 1)});
    });
    return bench.error();
  };
  EXPECT_EQ(error(8), "");
  EXPECT_EQ(error(7), sentence("writes", "reads", 7 * 128, 8 * 128 - 1));
}

TEST(RaceCheck, FollowsOrderThroughTiles) {
  // Core 1 reads x into a tile that it receives first: the exchange is after core 0's write.
  for (const bool through_tile : {true, false}) {
    Bench bench;
    bench.write(0, bench.x);
    for (const int core : {0, 1}) {
      bench.builder.core(core, [&] {
        bench.builder.emit(exchange_of(core, bench.other[core], bench.tile[core]));
      });
    }
    bench.builder.core(1, [&] {
      const View target =
          through_tile ? bench.other[1] : bench.builder.sbuf("v", {16, 32}, Dtype::kFloat32);
      bench.builder.emit(DmaCopy{.dst = target, .src = bench.x});
    });
    EXPECT_EQ(bench.error(), through_tile ? "" : sentence("writes", "reads", 0, 2047));
  }
}

TEST(RaceCheck, ChecksEveryIntervalOfABarrierInALoop) {
  const auto error = [](bool second_barrier) {
    Bench bench;
    for (const int core : {0, 1}) {
      bench.builder.core(core, [&] {
        bench.builder.loop(4, [&](const Affine&) {
          const View tile = bench.tile[core];
          if (core == 0) bench.builder.emit(DmaCopy{.dst = bench.x, .src = tile});
          bench.builder.emit(CoreBarrier{.data = bench.x});
          if (core == 1) bench.builder.emit(DmaCopy{.dst = tile, .src = bench.x});
          if (second_barrier) bench.builder.emit(CoreBarrier{.data = bench.x});
        });
      });
    }
    return bench.error();
  };
  EXPECT_EQ(error(true), "");
  // The next iteration's write meets this iteration's read.
  EXPECT_EQ(error(false), sentence("writes", "reads", 0, 2047));
}

TEST(RaceCheck, DoesNotReportWhatDependsOnData) {
  Bench bench;
  const View index = bench.builder.argument("index", {1, 1}, Dtype::kInt32);
  bench.builder.core(0, [&] {
    bench.builder.emit(RegisterLoad{.dst = 0, .src = index});
    bench.builder.emit(DmaCopy{.dst = bench.x.slice(0, 0, 1).at_register(0, 128),
                               .src = bench.tile[0].slice(0, 0, 1)});
    bench.builder.loop_register(EngineKind::kSync, 0, 4, [&](const Affine&) {
      bench.builder.emit(DmaCopy{.dst = bench.y, .src = bench.tile[0]});
    });
  });
  bench.read(1, bench.x);
  bench.read(1, bench.y);
  EXPECT_EQ(bench.error(), "");
}

TEST(RaceCheck, KeepsWriteOnceTensorsWithoutHistory) {
  Bench halves;
  halves.write(0, halves.x.slice(0, 0, 8));
  halves.write(1, halves.x.slice(0, 8, 8));
  auto program = halves.builder.finish();
  EXPECT_EQ(program->tiles[static_cast<size_t>(halves.x.tile())].hazard_group, -1);
  Bench ordered;  // the barrier waits for the writes
  ordered.write(0, ordered.x.slice(0, 0, 8));
  ordered.barrier(ordered.x);
  ordered.write(1, ordered.x.slice(0, 8, 8));
  program = ordered.builder.finish();
  EXPECT_GE(program->tiles[static_cast<size_t>(ordered.x.tile())].hazard_group, 0);
  Bench constant;  // a barrier alone writes nothing
  constant.barrier(constant.x);
  program = constant.builder.finish();
  EXPECT_FALSE(program->arguments[0].written);
  EXPECT_FALSE(program->arguments[0].read);
}

TEST(RaceCheck, ACollectiveWaitsForItsOwnCoreOnly) {
  for (const bool ordered : {false, true}) {
    Bench bench;
    bench.write(0, bench.x);
    if (ordered) bench.barrier(bench.x);
    bench.reduce(1);
    EXPECT_EQ(bench.error(),
              ordered ? "" : sentence("writes", "reads", 0, 2047, "x", "all_reduce"));
  }
}

TEST(RaceCheck, EachCoreReadsWhatItsCollectiveGaveBoth) {
  for (const bool both : {false, true}) {
    Bench bench;
    if (both) bench.reduce(0);
    bench.read(0, bench.y);
    bench.reduce(1);
    bench.read(1, bench.y);
    EXPECT_EQ(bench.error(), both ? "" : sentence("reads", "writes", 0, 2047, "y", "all_reduce"));
  }
}

}  // namespace
}  // namespace neuron_sim
