#include "device/compiler/line/meetings.h"

#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

/// Both cores move rows of `x` [16, 32] fp32 and meet on `x` or `y`.
class Bench {
 public:
  Bench()
      : builder("meetings", load_architecture("trn2")),
        x(builder.argument("x", {16, 32}, Dtype::kFloat32)),
        y(builder.argument("y", {16, 32}, Dtype::kFloat32)) {
    for (const int core : {0, 1}) {
      builder.core(core, [&] { tile[core] = builder.sbuf("t", {16, 32}, Dtype::kFloat32); });
    }
  }
  void store(int core, const View& to) {
    builder.core(core, [&] { builder.emit(DmaCopy{.dst = to, .src = part(core, to)}); });
  }
  void load(int core, const View& from) {
    builder.core(core, [&] { builder.emit(DmaCopy{.dst = part(core, from), .src = from}); });
  }
  void barrier(const View& data) {
    for (const int core : {0, 1}) {
      builder.core(core,
                   [&] { builder.emit(CoreBarrier{.data = data, .engine = EngineKind::kSync}); });
    }
  }
  /// The straight line of core 0.
  StraightLine line() { return *unroll(*builder.finish()).line; }

  Builder builder;
  View x, y, tile[2];

 private:
  View part(int core, const View& tensor) const {
    return tile[core].slice(0, 0, tensor.size(0)).slice(1, 0, tensor.size(1));
  }
};

Edges pairs(const std::vector<Edge>& edges) {
  Edges result;
  for (const Edge& edge : edges) result.emplace_back(edge.consumer, edge.producer);
  return result;
}

/// Per instance of the line, whether it conflicts with the other core.
std::vector<bool> conflicts(const StraightLine& line) {
  std::vector<bool> result;
  for (const StraightInstruction& each : line.instructions) {
    result.push_back(conflicts_with_peer(line, each));
  }
  return result;
}

TEST(Meetings, AnAccessConflictsWithBytesThatTheOtherCoreWrites) {
  Bench bench;
  bench.load(0, bench.x.slice(0, 0, 4));   // rows 0 to 3
  bench.load(0, bench.x.slice(0, 0, 5));   // rows 0 to 4, of which core 1 writes the last
  bench.load(0, bench.x.slice(0, 8, 8));   // begins with the row after
  bench.store(0, bench.x.slice(0, 7, 1));  // the last one that it writes
  bench.barrier(bench.x);
  bench.store(1, bench.x.slice(0, 4, 4));
  EXPECT_EQ(conflicts(bench.line()), (std::vector<bool>{false, true, false, true, false}));
}

TEST(Meetings, ReadsConflictWithNoReadsAndWritesDo) {
  Bench bench;
  bench.load(0, bench.x);
  bench.load(0, bench.y);
  bench.barrier(bench.y);
  bench.load(1, bench.x);
  bench.store(1, bench.y);
  const StraightLine reader = bench.line();
  EXPECT_EQ(conflicts(reader), (std::vector<bool>{false, true, false}));
}

TEST(Meetings, InterleavedHalvesOfRowsDoNotConflict) {
  for (const int64_t columns : {16, 17}) {
    Bench bench;
    bench.load(0, bench.x.slice(1, 0, columns));
    bench.barrier(bench.x);
    bench.store(1, bench.x.slice(1, 16, 16));
    EXPECT_EQ(conflicts(bench.line()), (std::vector<bool>{columns == 17, false}));
  }
}

TEST(Meetings, EdgesLeadFromAccessesToTheNextMeetingAndFromTheLastOne) {
  Bench bench;
  bench.store(0, bench.x.slice(0, 0, 8));  // 0
  bench.load(0, bench.y);                  // 1: core 1 does not write it
  bench.store(1, bench.x.slice(0, 8, 8));
  bench.barrier(bench.x);                 // 2
  bench.load(0, bench.x.slice(0, 8, 8));  // 3
  bench.load(1, bench.x.slice(0, 0, 8));
  bench.barrier(bench.y);  // 4
  const StraightLine line = bench.line();
  EXPECT_EQ(pairs(meeting_edges(line)), (Edges{{2, 0}, {3, 2}, {4, 3}}));
  EXPECT_TRUE(follows_from_operands(line, {2, 0}));
  EXPECT_TRUE(follows_from_operands(line, {3, 2}));
  EXPECT_FALSE(follows_from_operands(line, {4, 3}));  // the second barrier is on y
}

TEST(Meetings, AProgramOfOneCoreHasNone) {
  Builder builder("alone", load_architecture("trn2"));
  const View x = builder.argument("x", {16, 32}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {16, 32}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = tile, .src = x});
  const StraightLine line = *unroll(*builder.finish()).line;
  EXPECT_EQ(line.peer, nullptr);
  EXPECT_TRUE(meeting_edges(line).empty());
  EXPECT_FALSE(conflicts_with_peer(line, line.instructions[0]));
}

}  // namespace
}  // namespace neuron_sim
