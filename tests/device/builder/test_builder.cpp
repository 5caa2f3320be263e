#include "device/builder/builder.h"
#include "device/operand/engine_state.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
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

TEST(Builder, EmitsLoopsOfSeveralTripsOnly) {
  for (const int64_t trips : {0, 1, 2}) {
    Builder builder("loops", trn2());
    const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
    int calls = 0;
    builder.loop(trips, [&](const Affine& i) {
      ++calls;
      EXPECT_EQ(i.is_constant(), trips == 1);
      builder.emit(Memset{tile.slice(1, i, 1), 0});
    });
    const auto program = builder.finish();
    EXPECT_EQ(calls, trips == 0 ? 0 : 1);
    EXPECT_EQ(program->instructions.size(), trips == 0 ? 0u : 1u);
    EXPECT_EQ(program->loops.size(), trips == 2 ? 1u : 0u);
  }
  Builder builder("loops", trn2());
  EXPECT_EQ(error_of([&] { builder.loop(-1, [](const Affine&) {}); }),
            "loop with a negative trip count of -1.");
}

TEST(Builder, ChecksBoundsAtTheFirstAndTheLastIteration) {
  Builder builder("bounds", trn2());
  const View tile = builder.sbuf("tile", {128, 20}, Dtype::kFloat32);
  std::vector<std::string> errors;
  builder.loop(6, [&](const Affine& i) {
    for (const Affine& start : {i * 3 + 4, i * 3 + 5, i * -3 + 15, i * -3 + 14}) {
      errors.push_back(error_of([&] { builder.emit(Memset{tile.slice(1, start, 1), 0}); }));
    }
    errors.push_back(error_of([&] { builder.emit(Memset{tile.slice(0, i * 16, 32), 0}); }));
    errors.push_back(error_of([&] { builder.emit(Memset{tile.slice(0, i * 20, 32), 0}); }));
    errors.push_back(error_of([&] { builder.emit(Memset{tile.slice(0, i - 1, 32), 0}); }));
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_EQ(errors[1],
            "Out-of-bound access for tensor `tile`: operand 'dst' of 'memset' reaches byte 83, the "
            "tensor has 80 bytes per partition.");
  EXPECT_EQ(errors[2], "");
  EXPECT_EQ(errors[3],
            "Out-of-bound access for tensor `tile`: operand 'dst' of 'memset' reaches byte -4, the "
            "tensor has 80 bytes per partition.");
  EXPECT_EQ(errors[4], "");
  EXPECT_EQ(errors[5],
            "Out-of-bound access for tensor `tile`: operand 'dst' of 'memset' reaches partition "
            "131, the tensor has 128 partitions per partition.");
  EXPECT_EQ(
      errors[6].substr(0, 85),
      "Out-of-bound access for tensor `tile`: operand 'dst' of 'memset' reaches partition -1");
}

TEST(Builder, KeepsTheProgramAsItWasWhenAnEmitFails) {
  const auto build = [](bool with_failures) {
    Builder builder("failures", trn2());
    const View x = builder.argument("x", {128, 8}, Dtype::kFloat32);
    const View a = builder.sbuf("a", {128, 8}, Dtype::kFloat32);
    const View b = builder.sbuf("b", {64, 8}, Dtype::kFloat32);
    builder.emit(Memset{a, 1});
    builder.loop(3, [&](const Affine& i) {
      if (with_failures) {
        EXPECT_NE(error_of([&] { builder.emit(TensorTensor{a, a, b, AluOp::kAdd}); }), "");
        EXPECT_NE(error_of([&] { builder.emit(Memset{a.slice(1, i * 4, 1), 0}); }), "");
        EXPECT_NE(error_of([&] { builder.emit(DmaCopy{.dst = a, .src = b}); }), "");
      }
      builder.emit(Memset{a.slice(1, i, 1), 0});
    });
    builder.emit(DmaCopy{.dst = x, .src = a});
    return builder.finish();
  };
  const auto clean = build(false), failing = build(true);
  EXPECT_EQ(listing(*clean), listing(*failing));
  EXPECT_EQ(clean->demands.size(), failing->demands.size());
  EXPECT_EQ(clean->operands.size(), failing->operands.size());
  EXPECT_EQ(clean->attributes.size(), failing->attributes.size());
  EXPECT_EQ(clean->terms.size(), failing->terms.size());
}

TEST(Builder, ClosesLoopsAndScopesThatAnErrorLeaves) {
  Builder builder("abandoned", trn2());
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(builder.loop(4,
                              [&](const Affine&) {
                                builder.psum("all banks", {128, 4096}, Dtype::kFloat32);
                                fail("stop");
                              }),
                 KernelError);
  }
  EXPECT_NO_THROW(builder.finish());
}

TEST(Builder, AppendsTheSourceLineToMessages) {
  Builder builder("lines", trn2());
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  const auto message = [&] { return error_of([&] { builder.emit(Memset{tile.indirect(1), 0}); }); };
  const auto bounds = [&] {
    return error_of([&] {
      builder.loop(2, [&](const Affine& i) { builder.emit(Memset{tile.slice(1, i * 8, 1), 0}); });
    });
  };
  EXPECT_EQ(bounds().find("\n"), std::string::npos);
  builder.set_source_line("kernel.py:12 x = f(y)");
  EXPECT_NE(bounds().find(" bytes per partition.\n  at kernel.py:12 x = f(y)"), std::string::npos);
  builder.set_source_line("");
  EXPECT_EQ(bounds().find("\n"), std::string::npos);
  EXPECT_NE(message(), "");
}

TEST(Builder, NestsEightLoopsAndNoMore) {
  Builder builder("deep", trn2());
  const std::function<void(int)> nest = [&](int depth) {
    if (depth > 0) builder.loop(2, [&](const Affine&) { nest(depth - 1); });
  };
  EXPECT_EQ(error_of([&] { nest(kMaximumLoopDepth); }), "");
  EXPECT_EQ(error_of([&] { nest(kMaximumLoopDepth + 1); }),
            "loops of kernel 'deep' nest deeper than 8.");
}

TEST(Builder, ReleasesTilesAtTheEndOfAScope) {
  Builder builder("scopes", trn2());
  const std::vector<int64_t> half{128, 512 * 4};
  for (int i = 0; i < 3; ++i) {
    builder.scope([&] {
      builder.psum("one", half);
      builder.psum("two", half);
      EXPECT_NE(error_of([&] { builder.psum("three", half); }), "");
    });
    builder.loop(2, [&](const Affine&) { builder.psum("in loop", half, Dtype::kFloat32, 2); });
  }
  EXPECT_EQ(builder.finish()->psum_peak, 8 * 2048);
}

TEST(Builder, ChecksTheShapeOfTiles) {
  Builder builder("tiles", trn2());
  const Dtype f = Dtype::kFloat32;
  EXPECT_NO_THROW(builder.sbuf("t", {128, 1}, f));
  EXPECT_EQ(error_of([&] {
              builder.sbuf("t", {129, 1}, f);
            }),
            "number of partitions 129 exceed architecture limitation of 128. (tile 't' in sbuf, "
            "architecture trn2)");
  EXPECT_EQ(error_of([&] { builder.sbuf("t", {128}, f); }),
            "tile 't' has 1 dimensions; a tile has 2 to 5 (partition and free dimensions).");
  EXPECT_EQ(error_of([&] {
              builder.sbuf("t", {128, 0}, f);
            }),
            "tile 't' has a dimension of size 0.");
  EXPECT_NO_THROW(builder.scope([&] { builder.psum("t", {1, 4096}, f); }));
  EXPECT_EQ(error_of([&] {
              builder.psum("t", {1, 4097}, f);
            }),
            "tile 't' needs 16388 bytes per partition, psum has 16384 on trn2.");
}

TEST(Builder, PlacesTilesDirectlyAndModulo) {
  Builder builder("placed", trn2());
  const Dtype f = Dtype::kFloat32;
  const View a = builder.place(MemoryKind::kSbuf, "a", {64, 16}, f, 100, 64, 3);
  builder.place(MemoryKind::kPsum, "p", {128, 16}, f, 2048, 0, 2);
  EXPECT_EQ(error_of([&] {
              builder.place(MemoryKind::kSbuf, "b", {64, 16}, f, 0, 65);
            }),
            "direct allocation of 'b': partitions [65, 129) exceed architecture limitation of "
            "128.");
  EXPECT_NE(error_of([&] { builder.place(MemoryKind::kPsum, "q", {1, 1}, f, 4); }), "");
  builder.loop(6, [&](const Affine& i) { builder.emit(Memset{a.turn(i), 0}); });
  const auto program = builder.finish();
  const auto first = static_cast<size_t>(kEngineStateCount);
  EXPECT_EQ(program->tiles[first].address, 100);
  EXPECT_EQ(program->tiles[first + 2].address, 100 + 2 * 64);
  EXPECT_EQ(program->tiles[first + 4].address, 2048 + 2048);
  const Operand& operand = program->operands[0];
  int64_t variables[kMaximumLoopDepth] = {5};
  const Location location = locate(*program, operand, variables, nullptr);
  EXPECT_EQ(location.tile, a.tile() + 2);
  EXPECT_EQ(location.offset, 100 + 2 * 64);
  EXPECT_EQ(location.partition, 64);
  EXPECT_EQ(program->loops[0].period, 3);
}

TEST(Builder, ChecksRegistersAndRings) {
  Builder builder("registers", trn2());
  const View x = builder.argument("x", {1, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {1, 8}, Dtype::kFloat32, 2);
  const auto at = [&](int index) {
    return error_of([&] { builder.emit(DmaCopy{.dst = tile, .src = x.at_register(index, 4)}); });
  };
  EXPECT_EQ(at(63), "");
  EXPECT_EQ(at(64),
            "address of tensor 'x[1, 8]': register 64 does not exist; the sequencers of trn2 have "
            "64 registers.");
  EXPECT_EQ(error_of([&] { builder.loop_register(EngineKind::kSync, 64, 2, [](Affine) {}); }),
            "register loop of kernel 'registers': register 64 of engine Sync does not exist; the "
            "sequencers of trn2 have 64 registers.");
  EXPECT_NE(error_of([&] { builder.loop_register(EngineKind::kAuto, 0, 2, [](Affine) {}); }), "");
  EXPECT_THROW(builder.emit(Memset{tile.in_ring(0, 3), 0}), SimulatorBug);
  EXPECT_NO_THROW(builder.emit(Memset{tile.in_ring(7, 2), 0}));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(builder.allocate_register(), i);
  EXPECT_NE(error_of([&] { builder.allocate_register(); }), "");
}

}  // namespace
}  // namespace neuron_sim
