#include "device/builder/joined_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

/// out = number, by way of a tile and of a scratch tensor; the last load waits for the Memset too.
std::shared_ptr<const Program> filling_program(double number) {
  Builder builder("fill", load_architecture("trn2"));
  const View out = builder.argument("out", {4, 8}, Dtype::kFloat32);
  const View scratch = builder.scratch("scratch", {4, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {4, 8}, Dtype::kFloat32);
  const View other = builder.sbuf("other", {4, 8}, Dtype::kFloat32);
  builder.set_source_line("fill.py:2");
  builder.emit(Memset{tile, number});
  builder.set_source_line("");
  builder.emit(DmaCopy{.dst = scratch, .src = tile});
  builder.emit(DmaCopy{.dst = other, .src = scratch});
  builder.emit(DmaCopy{.dst = out, .src = other});
  builder.add_edge(2, 0);
  return builder.finish();
}

TEST(JoinedProgram, ProgramsRunOneAfterTheOtherOnSharedTensors) {
  JoinedProgram joined("joined", load_architecture("trn2"));
  const TileId tensor = joined.tensor("tensor", 96, Dtype::kFloat32, true);
  joined.append(*filling_program(1), {{tensor, 0}}, "");
  joined.append(*filling_program(2), {{tensor, 256}}, "");
  joined.append(*filling_program(3), {{tensor, 64}}, "");
  const auto program = joined.finish();
  ProgramRun run(program);
  ThreadPool pool(1);
  run.execute(make_plan(*program), pool);
  for (int i = 0; i < 96; ++i) {
    const int expected = i < 16 ? 1 : i < 48 ? 3 : i < 64 ? 0 : 2;
    EXPECT_EQ(run.data<float>(0)[i], expected) << i;
  }
  EXPECT_EQ(program->scratch.size(), 3U);
  EXPECT_EQ(program->edges, (std::vector<Edge>{{2, 0}, {6, 4}, {10, 8}}));
  EXPECT_LT(simulate(*program).body, simulate(*filling_program(1)).body * 3);
}

TEST(JoinedProgram, ANameReplacesTheLinesOfAProgramOrPrecedesThem) {
  for (const std::string source : {"", "name, model.py:5"}) {
    JoinedProgram joined("joined", load_architecture("trn2"));
    const TileId tensor = joined.tensor("tensor", 32, Dtype::kFloat32, true);
    joined.append(*filling_program(1), {{tensor, 0}}, source);
    const auto program = joined.finish();
    std::vector<std::string> lines;
    for (const Instruction& instruction : program->instructions) {
      const int32_t line = instruction.source_line;
      lines.push_back(line < 0 ? "" : program->source_lines[static_cast<size_t>(line)]);
    }
    const std::string own = source.empty() ? "fill.py:2" : "name, fill.py:2";
    EXPECT_EQ(lines, (std::vector<std::string>{own, source, source, source}));
  }
}

}  // namespace
}  // namespace neuron_sim
