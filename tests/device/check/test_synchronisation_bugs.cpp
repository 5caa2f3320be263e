// Programs that lack an order, each with its correct twin.

#include "tests/device/check/check_programs.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

/// Builds the broken or the correct form and says what is found: rules, or the error of finish().
using Case = Rules (*)(bool broken);

Rules found_in(Builder& builder, std::vector<IterationMark> marks, size_t inputs = 1) {
  return rules_of(check(builder, inputs, std::move(marks)));
}

struct TwoBlocks {
  explicit TwoBlocks(const char* name) : builder(name, trn2()) {}
  Builder builder;
  View tensor = builder.argument("tensor", {9, 128, 8}, Dtype::kFloat32);
  View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
};

Rules neighbours_read(bool broken) {
  TwoBlocks blocks("halo");
  blocks.builder.loop(4, [&](const Affine& i) {
    blocks.builder.emit(DmaCopy{blocks.tile, blocks.tensor.select(0, broken ? i + 1 : i)});
    blocks.builder.emit(DmaCopy{blocks.tensor.select(0, i), blocks.tile});
  });
  return found_in(blocks.builder, {parallel(kGrid)});
}

Rules instances_overlap_by_a_row(bool broken) {
  Builder builder("rows", trn2());
  const View out = builder.argument("out", {512, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.loop(4, [&](const Affine& i) {
    builder.emit(Memset{tile, 1});
    builder.emit(DmaCopy{out.slice(0, i * (broken ? 127 : 128), 128), tile});
  });
  return found_in(builder, {parallel(kGrid)});
}

Rules instances_share_a_flag(bool broken) {
  Builder builder("flags", trn2());
  const View flags = builder.argument("flags", {4, 1}, Dtype::kInt32);
  const View flag = builder.sbuf("flag", {1, 1}, Dtype::kInt32);
  builder.loop(4, [&](const Affine& i) {
    builder.emit(Memset{flag, 1});
    builder.emit(DmaCopy{flags.slice(0, broken ? Affine(0) : i, 1), flag});
  });
  return found_in(builder, {parallel(kGrid)});
}

Rules prefix_in_a_parallel_loop(bool broken) {
  TwoBlocks blocks("prefix");
  blocks.builder.loop(8, [&](const Affine& i) {
    blocks.builder.emit(DmaCopy{blocks.tile, blocks.tensor.select(0, i)});
    blocks.builder.emit(DmaCopy{blocks.tensor.select(0, i + 1), blocks.tile});
  });
  std::vector<IterationMark> marks;
  if (broken) marks.push_back(parallel(kLoop));
  return found_in(blocks.builder, marks);
}

Rules tile_of_the_iteration_before(bool broken) {
  Builder builder("shifted", trn2());
  const View in = builder.argument("in", {4, 128, 8}, Dtype::kFloat32);
  const View out = builder.argument("out", {4, 128, 8}, Dtype::kFloat32);
  const View ring = builder.sbuf("ring", {128, 8}, Dtype::kFloat32, 4);
  builder.emit(Memset{ring.turn(3), 0});
  const auto first = static_cast<uint32_t>(builder.instruction_count());
  builder.loop(4, [&](const Affine& i) {
    builder.emit(DmaCopy{ring.turn(i), in.select(0, i)});
    builder.emit(DmaCopy{out.select(0, i), ring.turn(broken ? i + 3 : i)});
  });
  return found_in(builder, {parallel(kLoop, first)});
}

Rules carried_scale(bool broken) {
  Builder builder("scale", trn2());
  const View out = builder.argument("out", {128, 8}, Dtype::kFloat32);
  const View a = builder.sbuf("a", {128, 8}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{a, 1});
  const auto first = static_cast<uint32_t>(builder.instruction_count());
  builder.loop(4, [&](const Affine&) {
    builder.emit(TensorTensor{b, a, a, AluOp::kMultiply});
    if (broken) builder.emit(TensorCopy{a, b});
  });
  const auto end = static_cast<uint32_t>(builder.instruction_count());
  builder.emit(DmaCopy{out, b});
  return found_in(builder, {parallel(kLoop, first, end)});
}

Rules reads_a_sum_before_it_ends(bool broken) {
  Builder builder("early", trn2());
  const View x = builder.sbuf("x", {128, 128}, Dtype::kBfloat16);
  const View copy = builder.sbuf("copy", {128, 128}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {128, 128});
  builder.emit(Memset{x, 1});
  builder.emit(NcMatmul{sum, x, x, false});
  if (broken) builder.emit(TensorCopy{copy, sum});
  builder.emit(NcMatmul{sum, x, x, true});
  builder.emit(TensorCopy{copy, sum});
  return found_in(builder, {}, 0);
}

Rules sums_take_turns(bool broken) {
  Builder builder("turns", trn2());
  const View x = builder.sbuf("x", {128, 128}, Dtype::kBfloat16);
  const View sums = builder.psum("sums", {128, broken ? 256 : 1024});
  builder.emit(Memset{x, 1});
  for (const bool accumulate : {false, true}) {
    for (const int64_t at : {int64_t{0}, sums.size(1) / 2}) {
      builder.emit(NcMatmul{sums.slice(1, at, 128), x, x, accumulate});
    }
  }
  return found_in(builder, {}, 0);
}

/// Core 0 writes a tensor that core 1 reads; both meet at a barrier on `broken`'s other tensor.
Rules cores(bool broken, bool barrier_after) {
  Builder builder("cores", trn2());
  const View shared = builder.scratch("shared", {128, 8}, Dtype::kFloat32);
  const View other = builder.scratch("other", {128, 8}, Dtype::kFloat32);
  const View barrier = broken && !barrier_after ? other : shared;
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
      const bool late = broken && barrier_after;
      if (core == 1 && late) builder.emit(DmaCopy{tile, shared});
      if (core == 0) builder.emit(Memset{tile, 1});
      if (core == 0) builder.emit(DmaCopy{shared, tile});
      builder.emit(CoreBarrier{.data = barrier, .cores = {0, 1}});
      if (core == 1 && !late) builder.emit(DmaCopy{tile, shared});
    });
  }
  const std::string error = finish_error(builder);
  return error.find("race on tensor 'shared'") == std::string::npos ? Rules{} : Rules{"race"};
}

Rules barrier_on_another_tensor(bool broken) { return cores(broken, false); }
Rules barrier_after_the_read(bool broken) { return cores(broken, true); }

Rules unrolled_instances_write_one_block(bool broken) {
  TwoBlocks blocks("unrolled");
  std::vector<IterationMark> marks;
  for (int64_t i = 0; i < 3; ++i) {
    const auto first = static_cast<uint32_t>(blocks.builder.instruction_count());
    blocks.builder.emit(Memset{blocks.tile, 1});
    blocks.builder.emit(DmaCopy{blocks.tensor.select(0, broken ? i / 2 : i), blocks.tile});
    marks.push_back(unrolled(kGrid, first, first + 2, i));
  }
  return found_in(blocks.builder, marks);
}

Rules store_of_another_lane(bool broken) {
  Builder builder("columns", trn2());
  const View out = builder.argument("out", {128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{tile, 1});
  builder.loop(4, [&](const Affine& i) {
    builder.emit(DmaCopy{out.slice(1, i * (broken ? 1 : 2), 2), tile.slice(1, 0, 2)});
  });
  return found_in(builder, {parallel(kGrid)});
}

struct Seeded {
  Case build;
  const char* rule;
};

TEST(SynchronisationBugs, AreFoundAndTheirCorrectTwinsAreNot) {
  const Seeded cases[] = {{neighbours_read, "instance-race"},
                          {instances_overlap_by_a_row, "instance-race"},
                          {instances_share_a_flag, "instance-race"},
                          {prefix_in_a_parallel_loop, "carried-dependency"},
                          {tile_of_the_iteration_before, "carried-dependency"},
                          {carried_scale, "carried-value"},
                          {reads_a_sum_before_it_ends, "psum-read-before-stop"},
                          {sums_take_turns, "psum-interleaved-groups"},
                          {barrier_on_another_tensor, "race"},
                          {barrier_after_the_read, "race"},
                          {unrolled_instances_write_one_block, "instance-race"},
                          {store_of_another_lane, "instance-race"}};
  for (const Seeded& seeded : cases) {
    const Rules broken = seeded.build(true);
    ASSERT_FALSE(broken.empty()) << seeded.rule;
    EXPECT_EQ(broken[0], seeded.rule);
    EXPECT_EQ(seeded.build(false), Rules{}) << seeded.rule;
  }
}

}  // namespace
}  // namespace neuron_sim
