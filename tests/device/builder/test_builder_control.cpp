#include <gtest/gtest.h>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

const Architecture& trn2() { return load_architecture("trn2"); }

template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(BuilderControl, OpenAndCloseMakeTheProgramOfTheCallbacks) {
  Builder callbacks("kernel", trn2());
  const View first = callbacks.sbuf("tile", {128, 8}, Dtype::kFloat32);
  callbacks.loop(4, [&](const Affine& i) {
    callbacks.loop(2, [&](const Affine& j) {
      callbacks.emit(Memset{first.slice(1, i * 2 + j, 1), 1.0});
    });
    callbacks.scope([&] {
      callbacks.emit(Memset{callbacks.sbuf("scoped", {128, 4}, Dtype::kFloat32), 2.0});
    });
  });
  callbacks.emit(Memset{callbacks.sbuf("last", {128, 4}, Dtype::kFloat32), 3.0});

  Builder pairs("kernel", trn2());
  const View tile = pairs.sbuf("tile", {128, 8}, Dtype::kFloat32);
  const Affine i = pairs.open_loop(4);
  const Affine j = pairs.open_loop(2);
  pairs.emit(Memset{tile.slice(1, i * 2 + j, 1), 1.0});
  pairs.close_loop();
  pairs.open_scope();
  pairs.emit(Memset{pairs.sbuf("scoped", {128, 4}, Dtype::kFloat32), 2.0});
  pairs.close_scope();
  pairs.close_loop();
  pairs.emit(Memset{pairs.sbuf("last", {128, 4}, Dtype::kFloat32), 3.0});

  const auto expected = callbacks.finish();
  const auto program = pairs.finish();
  EXPECT_EQ(listing(*program), listing(*expected));
  ASSERT_EQ(program->tiles.size(), expected->tiles.size());
  for (size_t tile_id = 0; tile_id < program->tiles.size(); ++tile_id) {
    EXPECT_EQ(program->tiles[tile_id].address, expected->tiles[tile_id].address) << tile_id;
  }
}

TEST(BuilderControl, OneTripNeedsNoLoopAndNoTripHasNoBody) {
  Builder builder("trips", trn2());
  EXPECT_EQ(error_of([&] { builder.open_loop(0); }),
            "loop with a trip count of 0 has no body to emit.");
  EXPECT_EQ(error_of([&] { builder.open_loop(-1); }), "loop with a negative trip count of -1.");
  EXPECT_EQ(builder.open_loop(1), Affine(0));
  builder.psum("all banks", {128, 4096}, Dtype::kFloat32);
  builder.close_loop();
  EXPECT_NO_THROW(builder.psum("all banks again", {128, 4096}, Dtype::kFloat32));
  EXPECT_EQ(builder.open_loop(2), Affine::variable(0));
  builder.close_loop();
  EXPECT_EQ(builder.finish()->loops.size(), 1U);
}

TEST(BuilderControl, ClosesOnlyWhatIsOpenInnermostFirst) {
  Builder builder("kernel", trn2());
  EXPECT_EQ(error_of([&] { builder.close_loop(); }),
            "kernel 'kernel': close_loop() where nothing is open.");
  builder.set_source_line("kernel.py:7");
  builder.open_loop(3);
  builder.set_source_line("");
  builder.open_scope();
  EXPECT_EQ(error_of([&] { builder.close_loop(); }),
            "kernel 'kernel': close_loop() inside a scope.");
  builder.close_scope();
  EXPECT_EQ(error_of([&] { builder.close_scope(); }),
            "kernel 'kernel': close_scope() inside a loop of 3 iterations opened at kernel.py:7.");
  EXPECT_EQ(error_of([&] { builder.finish(); }),
            "kernel 'kernel' ends inside a loop of 3 iterations opened at kernel.py:7; a counted "
            "loop is left at the end of its body only.");
  builder.close_loop();
  builder.open_core(0);
  EXPECT_EQ(error_of([&] { builder.open_core(0); }), "kernel 'kernel': core(0) is inside core(0).");
  EXPECT_EQ(error_of([&] { builder.finish(); }), "kernel 'kernel' ends inside core(0).");
  builder.close_core();
  EXPECT_NO_THROW(builder.finish());
}

TEST(BuilderControl, ACallbackThatLeavesAScopeOpenIsAnError) {
  Builder builder("kernel", trn2());
  EXPECT_EQ(error_of([&] { builder.loop(2, [&](const Affine&) { builder.open_scope(); }); }),
            "kernel 'kernel': close_loop() inside a scope.");
  EXPECT_NO_THROW(builder.finish());
}

TEST(BuilderControl, BoundsAreThoseOfTheOpenLoops) {
  Builder builder("bounds", trn2());
  const Affine i = builder.open_loop(5);
  const Affine j = builder.open_loop(3);
  const Builder::Bounds bounds = builder.bounds(i * 10 - j * 2 + 7);
  EXPECT_EQ(bounds.smallest, 3);
  EXPECT_EQ(bounds.largest, 47);
  builder.close_loop();
  EXPECT_EQ(builder.bounds(i).largest, 4);
  const std::string stale = error_of([&] { builder.bounds(i + j); });
  EXPECT_EQ(stale, "an index of kernel 'bounds' uses the variable of a loop that is closed.");
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  EXPECT_EQ(error_of([&] {
              builder.emit(Memset{tile.slice(1, j, 1), 0});
            }),
            "address of tensor 'tile[128, 1]' uses the variable of a loop that is closed.");
  builder.close_loop();
}

TEST(BuilderControl, KeepsEachSourceLineOnce) {
  Builder builder("lines", trn2());
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  for (const char* line : {"a.py:1", "a.py:2", "a.py:1", "", "a.py:2"}) {
    builder.set_source_line(line);
    builder.emit(Memset{tile, 0});
  }
  const auto program = builder.finish();
  EXPECT_EQ(program->source_lines, (std::vector<std::string>{"a.py:1", "a.py:2"}));
  std::vector<int32_t> lines;
  for (const Instruction& instruction : program->instructions) {
    lines.push_back(instruction.source_line);
  }
  EXPECT_EQ(lines, (std::vector<int32_t>{0, 1, 0, -1, 1}));
}

}  // namespace
}  // namespace neuron_sim
