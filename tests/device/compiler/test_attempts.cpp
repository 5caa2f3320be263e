#include <algorithm>
#include <cstdlib>
#include <set>

#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRows = 3;

/// out[m, n] = a[m] * (2 a[m] + b[n]) by tiles of one partition and an eighth of the room for kept
/// tiles. Alive at a time: x, doubled and sum, or x, sum and z, besides y; doubled as well once it
/// is hoisted.
std::shared_ptr<const Program> products(int64_t tiles) {
  const Architecture& architecture = load_architecture("trn2");
  const int64_t columns = (architecture.limits.sbuf_usable.count - kDescriptorBytes) / (8 * 4);
  Builder builder("products", architecture);
  const View a = builder.argument("a", {kRows, 1, columns}, Dtype::kFloat32);
  const View b = builder.argument("b", {tiles, 1, columns}, Dtype::kFloat32);
  const View out = builder.argument("out", {kRows, tiles, 1, columns}, Dtype::kFloat32);
  builder.loop(kRows, [&](const Affine& m) {
    builder.loop(tiles, [&](const Affine& n) {
      const View x = builder.sbuf("x", {1, columns}, Dtype::kFloat32);
      const View y = builder.sbuf("y", {1, columns}, Dtype::kFloat32);
      const View doubled = builder.sbuf("doubled", {1, columns}, Dtype::kFloat32);
      const View sum = builder.sbuf("sum", {1, columns}, Dtype::kFloat32);
      const View z = builder.sbuf("z", {1, columns}, Dtype::kFloat32);
      builder.emit(DmaCopy{.dst = x, .src = a.select(0, m)});
      builder.emit(DmaCopy{.dst = y, .src = b.select(0, n)});
      builder.emit(TensorTensor{.dst = doubled, .data1 = x, .data2 = x, .op = AluOp::kAdd});
      builder.emit(TensorTensor{.dst = sum, .data1 = doubled, .data2 = y, .op = AluOp::kAdd});
      builder.emit(TensorTensor{.dst = z, .data1 = sum, .data2 = x, .op = AluOp::kMultiply});
      builder.emit(DmaCopy{.dst = out.select(0, m).select(0, n), .src = z});
    });
  });
  return builder.finish();
}

struct Counts {
  int64_t transfers = 0, computations = 0;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.transfers << " transfers, " << counts.computations << " computations";
}

Counts compiled(int64_t tiles) {
  const auto program = products(tiles);
  const Compiled result =
      compile(program, {{"rename_buffers", 1}, {"reuse_loads", 1}, {"hoist_invariants", 1}});
  EXPECT_TRUE(result.skipped_passes.empty());
  EXPECT_EQ(bytes_after(program), bytes_after(result.program));
  return {std::ssize(instructions_named(*result.program, "dma_copy")),
          std::ssize(instructions_named(*result.program, "tensor_tensor"))};
}

TEST(Attempts, LoadedTilesAreKeptInLessRoomBeforeAPassGivesWay) {
  // Each row of a is loaded and doubled once. Kept tiles of b fill the room before doubled is
  // hoisted: four leave a tile for it; of five, three are kept and two loaded for each row of a.
  EXPECT_EQ(compiled(4), (Counts{kRows + 4 + kRows * 4, kRows + kRows * 4 * 2}));
  EXPECT_EQ(compiled(5), (Counts{kRows + 3 + kRows * 2 + kRows * 5, kRows + kRows * 5 * 2}));
}

/// How often reuse_loads runs until five tiles of b fit, with the settings of compiled() and one
/// more.
int runs_with(const char* pass) {
  setenv("NEURON_SIM_DUMP", "after:reuse_loads", 1);
  testing::internal::CaptureStderr();
  compile(products(5),
          {{"rename_buffers", 1}, {"reuse_loads", 1}, {"hoist_invariants", 1}, {pass, 1}});
  unsetenv("NEURON_SIM_DUMP");
  const std::string printed = testing::internal::GetCapturedStderr();
  int runs = 0;
  for (size_t at = 0; (at = printed.find("after reuse_loads: ", at)) != std::string::npos; ++at) {
    ++runs;
  }
  return runs;
}

TEST(Attempts, APassThatChangesNothingDoesNotGiveWay) {
  // Its tiles are too wide for batch_narrow_operations, the first to give way.
  const int runs = runs_with("reuse_loads");
  EXPECT_GT(runs, 1);
  EXPECT_EQ(runs_with("batch_narrow_operations"), runs);
}

/// out[i] = 2 in[i] by tiles of that share of SBUF, in percent, of which two live at a time in
/// program order.
Compiled doubled_rows(int64_t percent) {
  const Architecture& architecture = load_architecture("trn2");
  const int64_t columns = architecture.limits.sbuf_usable.count * percent / 100 / 4;
  Builder builder("doubled_rows", architecture);
  const View in = builder.argument("in", {6, 1, columns}, Dtype::kFloat32);
  const View out = builder.argument("out", {6, 1, columns}, Dtype::kFloat32);
  builder.loop(6, [&](const Affine& i) {
    const View x = builder.sbuf("x", {1, columns}, Dtype::kFloat32);
    const View y = builder.sbuf("y", {1, columns}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = x, .src = in.select(0, i)});
    builder.emit(TensorTensor{.dst = y, .data1 = x, .data2 = x, .op = AluOp::kAdd});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = y});
  });
  const auto program = builder.finish();
  Compiled result = compile(program, {{"rename_buffers", 1}, {"reuse_loads", 1}, {"schedule", 1}});
  EXPECT_EQ(bytes_after(program), bytes_after(result.program));
  return result;
}

/// Distinct places of the tiles that loads fill.
size_t load_places(const Program& program) {
  std::set<int64_t> places;
  for (const Instruction* load : instructions_named(program, "dma_copy")) {
    const Operand& dst = program.operands[load->first_operand];
    if (dst.memory == MemoryKind::kSbuf) places.insert(dst.offset);
  }
  return places.size();
}

TEST(Attempts, LoadsWaitForPlacesOnlyWhereTheyHaveNoneInTime) {
  // Two loads are on their way while a third tile is read: four tiles are alive in time.
  const Compiled in_time = doubled_rows(24), waiting = doubled_rows(45);
  EXPECT_TRUE(in_time.skipped_passes.empty());
  EXPECT_TRUE(waiting.skipped_passes.empty());
  EXPECT_GE(load_places(*in_time.program), 2U);
  EXPECT_EQ(load_places(*waiting.program), 1U);
}

}  // namespace
}  // namespace neuron_sim
