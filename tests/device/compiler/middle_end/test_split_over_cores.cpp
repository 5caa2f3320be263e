#include "device/compiler/middle_end/split_over_cores.h"

#include <algorithm>

#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
constexpr int64_t kRows = 6;

/// out[row] = exp(in[row]) * weight for kRows rows in a loop.
struct Rows {
  bool tail = false;         ///< the last row has statements of its own after the loop
  bool accumulates = false;  ///< the activation adds its row up in registers
  bool carries = false;      ///< the weight of a row is the result before
  bool in_place = false;     ///< out is in
  const char* architecture = "trn2";

  std::shared_ptr<const Program> program() const {
    Builder builder("rows", load_architecture(architecture));
    const View in = builder.argument("in", {kRows, 128, 64}, kFloat);
    const View out = in_place ? in : builder.argument("out", {kRows, 128, 64}, kFloat);
    const View weight = builder.sbuf("weight", {128, 64}, kFloat);
    builder.emit(DmaCopy{weight, builder.argument("weights", {128, 64}, kFloat)});
    const auto row = [&](const Affine& i) {
      const View data = builder.sbuf("data", {128, 64}, kFloat);
      const View sum = builder.sbuf("sum", {128, 1}, kFloat);
      builder.emit(DmaCopy{data, in.select(0, i)});
      Activate exponential{.dst = data, .data = data, .op = Activation::kExp};
      if (accumulates) {
        exponential.reduce_res = sum;
        exponential.reduce_op = AluOp::kAdd;
        exponential.reduce_command = ReduceCommand::kResetReduce;
      }
      builder.emit(exponential);
      builder.emit(TensorTensor{data, data, weight, AluOp::kMultiply});
      if (carries) builder.emit(TensorTensor{weight, data, weight, AluOp::kAdd});
      builder.emit(DmaCopy{out.select(0, i), data});
    };
    builder.loop(tail ? kRows - 1 : kRows, row);
    if (tail) row(Affine(kRows - 1));
    return builder.finish();
  }
};

/// Instances of that name on each core after the pass, which keeps the bytes of the arguments.
std::vector<int64_t> on_cores(const Rows& rows, std::string_view name) {
  const auto program = rows.program();
  const auto split = compile(program, {{"rename_buffers", 1}, {"split_over_cores", 1}}).program;
  EXPECT_EQ(bytes_after(program), bytes_after(split));
  std::vector<int64_t> counts;
  for (const Block& block : split->cores) {
    counts.push_back(std::count_if(block.begin(), block.end(), [&](const Node& node) {
      return split->instructions[node.index].type->name == name;
    }));
  }
  return counts;
}

using Counts = std::vector<int64_t>;

TEST(SplitOverCores, EachCoreComputesHalfOfTheStoresAndLoadsWhatItNeeds) {
  EXPECT_EQ(on_cores({}, "activation"), (Counts{kRows / 2, kRows / 2}));
  EXPECT_EQ(on_cores({}, "dma_copy"), (Counts{1 + kRows, 1 + kRows}));  // the weight on both
}

TEST(SplitOverCores, BothCoresComputeWhatAddsUpInRegisters) {
  EXPECT_EQ(on_cores({.accumulates = true}, "activation"), (Counts{kRows, kRows}));
  EXPECT_EQ(on_cores({.accumulates = true}, "tensor_tensor"), (Counts{kRows / 2, kRows / 2}));
  EXPECT_EQ(on_cores({.accumulates = true}, "dma_copy"),
            (Counts{1 + kRows + kRows / 2, 1 + kRows + kRows / 2}));
}

TEST(SplitOverCores, WhatLaterRowsNeedIsComputedByTheirCoreToo) {
  EXPECT_EQ(on_cores({.carries = true}, "activation"), (Counts{kRows / 2, kRows}));
}

TEST(SplitOverCores, AStoreOutsideOfTheLoopKeepsAllOnOneCore) {
  EXPECT_EQ(on_cores({.tail = true}, "activation"), (Counts{kRows}));
}

TEST(SplitOverCores, ATensorThatIsReadAndWrittenKeepsAllOnOneCore) {
  EXPECT_EQ(on_cores({.in_place = true}, "activation"), (Counts{kRows}));
}

TEST(SplitOverCores, AChipWithoutLogicalCoresOfTwoKeepsAllOnOneCore) {
  EXPECT_EQ(on_cores({.architecture = "trn1"}, "activation"), (Counts{kRows}));
}

/// out[channel, step] = (in[channel] in[channel]) + step for two channels, the inner loop's unless
/// `channel_outside`: products of each core that remain when those of each loop happen once.
Counts products(bool channel_outside) {
  Builder builder("products", load_architecture("trn2"));
  const View in = builder.argument("in", {2, 128, 64}, kFloat);
  const View out = builder.argument("out", {2, 3, 128, 64}, kFloat);
  const View channels = builder.sbuf("channels", {128, 128}, kFloat);
  for (int64_t i = 0; i < 2; ++i) {
    builder.emit(DmaCopy{channels.slice(1, i * 64, 64), in.select(0, Affine(i))});
  }
  const auto body = [&](const Affine& channel, const Affine& step) {
    const View data = channels.slice(1, channel * 64, 64);
    const View square = builder.sbuf("square", {128, 64}, kFloat);
    const View sum = builder.sbuf("sum", {128, 64}, kFloat);
    builder.emit(TensorTensor{square, data, data, AluOp::kMultiply});
    builder.emit(Activate{.dst = sum, .data = square, .op = Activation::kExp});
    builder.emit(DmaCopy{out.select(0, channel).select(0, step), sum});
  };
  if (channel_outside) {
    builder.loop(2, [&](const Affine& channel) {
      builder.loop(3, [&](const Affine& step) { body(channel, step); });
    });
  } else {
    builder.loop(3, [&](const Affine& step) {
      builder.loop(2, [&](const Affine& channel) { body(channel, step); });
    });
  }
  const auto split =
      compile(builder.finish(),
              {{"rename_buffers", 1}, {"split_over_cores", 1}, {"hoist_invariants", 1}})
          .program;
  Counts counts;
  for (const Block& block : split->cores) {
    counts.push_back(std::count_if(block.begin(), block.end(), [&](const Node& node) {
      return split->instructions[node.index].type->name == "tensor_tensor";
    }));
  }
  return counts;
}

TEST(SplitOverCores, WhatChangesInTheKernelsInnerLoopIsComputedAgainThoughACoreHasOneOfThem) {
  EXPECT_EQ(products(true), (Counts{1, 1}));
  EXPECT_EQ(products(false), (Counts{3, 3}));
}

TEST(SplitOverCores, HalfOfTheRowsTakeLessTime) {
  const auto program = Rows{}.program();
  const PassSettings one{{"rename_buffers", 1}, {"schedule", 1}};
  PassSettings two = one;
  two.set("split_over_cores", 1);
  const auto body = [&](const PassSettings& settings) {
    return simulate(*compile(program, settings).program).body;
  };
  EXPECT_LT(body(two), body(one));
}

}  // namespace
}  // namespace neuron_sim
