#include "device/compiler/verify.h"

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

/// The whole of core_tests runs with verified passes.
const bool kVerified = (verify_passes(true), true);

constexpr Dtype kFloat = Dtype::kFloat32;

/// out[i] = x[i] + x[i], three times; with an edge from the sum to the next load, if asked for.
StraightLine doubled(bool edge = false) {
  Builder builder("doubled", load_architecture("trn2"));
  const View x = builder.argument("x", {3, 128, 8}, kFloat);
  const View out = builder.argument("out", {3, 128, 8}, kFloat);
  const View tile = builder.sbuf("tile", {128, 8}, kFloat);
  const View sum = builder.sbuf("sum", {128, 8}, kFloat);
  builder.loop(3, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = tile, .src = x.select(0, i)});
    builder.emit(TensorTensor{.dst = sum, .data1 = tile, .data2 = tile, .op = AluOp::kAdd});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = sum});
  });
  StraightLine line = *unroll(*builder.finish()).line;
  if (edge) line.edges.push_back({1, 0});
  return line;
}

/// What is said of a pass "broken" that does `change`.
std::string complaint(bool (*change)(StraightLine&, PassState&), Keeps keeps = {},
                      StraightLine line = doubled()) {
  const Pass broken{"broken", Stage::kMiddleEnd, false, keeps, change};
  PassState state;
  try {
    run_pass(broken, line, state);
  } catch (const SimulatorBug& bug) {
    return bug.what();
  }
  return "";
}

std::string after_broken(const std::string& what) {
  return "neuron_sim bug: after pass 'broken' " + what + ".";
}

bool swap_first_two(StraightLine& line, PassState&) {
  std::swap(line.instructions[0], line.instructions[1]);
  return true;
}
bool drop_last_sum(StraightLine& line, PassState&) {
  line.instructions.erase(line.instructions.begin() + 7);
  return true;
}
bool repeat_first(StraightLine& line, PassState&) {
  line.instructions.insert(line.instructions.begin(), line.instructions.front());
  return true;
}
bool swap_sums(StraightLine& line, PassState&) {
  std::swap(line.instructions[1], line.instructions[4]);
  return true;
}

TEST(Verify, APassThatDoesNothingKeepsEverything) {
  const auto nothing = [](StraightLine&, PassState&) { return true; };
  EXPECT_EQ(complaint(nothing, {.order = true, .instances = true, .places = true}), "");
}

TEST(Verify, AnOperandLiesWithinItsTile) {
  const auto beyond = [](StraightLine& line, PassState&) {
    line.operands_of(line.instructions[1])[0].offset += 4;
    return true;
  };
  EXPECT_EQ(complaint(beyond),
            after_broken("'tensor_tensor' of statement 1 has an operand outside its tile"));
  const auto elsewhere = [](StraightLine& line, PassState&) {
    line.operands_of(line.instructions[2])[1].tile = -1;
    return true;
  };
  EXPECT_EQ(complaint(elsewhere),
            after_broken("'dma_copy' of statement 2 has an operand outside its tile"));
}

TEST(Verify, WhatIsReadWasWritten) {
  EXPECT_EQ(complaint(swap_first_two),
            after_broken("'tensor_tensor' of statement 1 reads bytes of tile 'tile' that nothing "
                         "wrote"));
}

TEST(Verify, ArgumentsAreStoredTo) {
  const auto drop_store = [](StraightLine& line, PassState&) {
    line.instructions.pop_back();
    return true;
  };
  EXPECT_EQ(complaint(drop_store), after_broken("8192 bytes are stored to 'out' instead of 12288"));
}

TEST(Verify, AnEdgeIsKept) {
  const auto reverse = [](StraightLine& line, PassState&) {
    std::rotate(line.instructions.begin() + 4, line.instructions.begin() + 6,
                line.instructions.begin() + 7);
    return true;
  };
  EXPECT_EQ(complaint(reverse, {}, doubled()), "");
  StraightLine line = doubled(true);
  line.edges[0] = {0, 1};  // every load after the sum before it
  EXPECT_EQ(complaint(reverse, {}, line),
            after_broken("'dma_copy' of statement 0 comes before the instance of statement 1 that "
                         "it has an edge from"));
}

TEST(Verify, OrderIsKeptWhereAPassSaysSo) {
  EXPECT_EQ(complaint(swap_sums, {.instances = true}), "");
  EXPECT_EQ(complaint(swap_sums, {.order = true}),
            after_broken("'dma_copy' of statement 2 has left the program order"));
  EXPECT_EQ(complaint(drop_last_sum, {.order = true}), "");
  EXPECT_EQ(complaint(repeat_first, {.order = true}), "");
}

TEST(Verify, InstancesAreKeptWhereAPassSaysSo) {
  EXPECT_EQ(complaint(drop_last_sum, {.instances = true}),
            after_broken("'tensor_tensor' of statement 1 is gone"));
  EXPECT_EQ(complaint(repeat_first, {.instances = true}),
            after_broken("'dma_copy' of statement 0 is new"));
}

TEST(Verify, PlacesAreKeptWhereAPassSaysSo) {
  const auto move = [](StraightLine& line, PassState&) {
    std::vector<int64_t> addresses(line.tiles.size(), -1);
    addresses[static_cast<size_t>(line.operands_of(line.instructions[1])[0].tile)] = 4096;
    move_tiles(line, addresses);
    return true;
  };
  EXPECT_EQ(complaint(move), "");
  EXPECT_EQ(complaint(move, {.places = true}), after_broken("tile 'sum' has moved"));
}

}  // namespace
}  // namespace neuron_sim
