#include <gtest/gtest.h>

#include "device/analysis/definedness.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/sequencing/register_load.h"
#include "device/operand/engine_state.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

const Architecture& trn2() { return load_architecture("trn2"); }

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(BuilderCores, EmitIntoBlocksOfTheirOwnAndMayBeOpenedAgain) {
  Builder builder("two", trn2());
  const Dtype f = Dtype::kFloat32;
  builder.emit(Memset{builder.sbuf("a", {4, 8}, f), 1});
  View b;
  builder.core(1, [&] {
    b = builder.sbuf("b", {4, 8}, f);
    builder.loop(3, [&](const Affine& i) { builder.emit(Memset{b.slice(1, i, 1), 2}); });
  });
  builder.core(0, [&] { builder.emit(Memset{builder.sbuf("c", {4, 8}, f), 3}); });
  builder.core(1, [&] { builder.emit(Memset{b, 4}); });
  const auto program = builder.finish();
  EXPECT_EQ(listing(*program),
            "kernel two for trn2\n"
            "  core 0:\n"
            "    Vector memset(dst=a[4, 8:4]@0 float32)\n"
            "    Vector memset(dst=c[4, 8:4]@64 float32)\n"
            "  core 1:\n"
            "    loop i0 < 3:\n"
            "      Vector memset(dst=b[4, 1:4]@0+4*i0 float32)\n"
            "    Vector memset(dst=b[4, 8:4]@0 float32)\n");
  EXPECT_EQ(program->tiles[static_cast<size_t>(b.tile())].core, 1);
  EXPECT_EQ(program->loops[0].core, 1);
  EXPECT_EQ(program->instructions.back().core, 1);
  EXPECT_EQ(program->sbuf_peak, 128);
}

TEST(BuilderCores, HaveWholeMemoriesRegistersAndEngineStatesOfTheirOwn) {
  Builder builder("own", trn2());
  const int64_t all = trn2().limits.sbuf_usable.count / 4;
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      builder.emit(Memset{builder.sbuf("t", {1, all}, Dtype::kFloat32), 0});
      builder.psum("p", {1, 4096});
      EXPECT_NE(error_of([&] { builder.sbuf("u", {1, 1}, Dtype::kFloat32); }), "");
      for (int i = 0; i < 64; ++i) EXPECT_EQ(builder.allocate_register(), i);
      EXPECT_NE(error_of([&] { builder.allocate_register(); }), "");
    });
  }
  const auto program = builder.finish();
  std::map<std::pair<MemoryKind, int64_t>, std::vector<int32_t>> groups;
  for (const Tile& tile : program->tiles) {
    groups[{tile.memory, tile.address}].push_back(tile.hazard_group);
  }
  for (const auto& [place, found] : groups) {
    ASSERT_EQ(found.size(), 2U);  // one of each core
    EXPECT_NE(found[0], found[1]);
  }
  EXPECT_EQ(program->tiles.size(), 2U * (kEngineStateCount + 2));
}

TEST(BuilderCores, DoNotReachTheTilesOfTheOtherCore) {
  Builder builder("far", trn2());
  const View a = builder.sbuf("a", {4, 8}, Dtype::kFloat32);
  builder.core(1, [&] {
    const View b = builder.sbuf("b", {4, 8}, Dtype::kFloat32);
    EXPECT_EQ(
        error_of([&] {
          builder.emit(TensorCopy{b, a});
        }),
        "operand 'src' of 'tensor_copy' is tile 'a' in the sbuf of core 0; core 1 reaches its "
        "own only. 'sendrecv' moves tiles between cores.");
    builder.emit(Memset{b, 0});
  });
  EXPECT_EQ(builder.finish()->instructions.size(), 1U);
}

TEST(BuilderCores, AreAsManyAsTheLogicalCoreHas) {
  const auto error = [](const char* architecture, int index) {
    Builder builder("many", load_architecture(architecture));
    return error_of([&] { builder.core(index, [] {}); });
  };
  EXPECT_EQ(error("trn1", 0), "");
  EXPECT_EQ(error("trn1", 1),
            "kernel 'many': core(1) does not exist; a logical core of architecture trn1 has 1 "
            "core.");
  for (const char* architecture : {"trn2", "trn3"}) {
    EXPECT_EQ(error(architecture, 1), "");
    EXPECT_EQ(error(architecture, 2),
              text("kernel 'many': core(2) does not exist; a logical core of architecture ",
                   architecture, " has 2 cores."));
    EXPECT_EQ(error(architecture, -1),
              text("kernel 'many': core(-1) does not exist; a logical core of architecture ",
                   architecture, " has 2 cores."));
  }
}

TEST(BuilderCores, AreNotOpenedInLoopsOrInEachOther) {
  Builder builder("nest", trn2());
  builder.loop(2, [&](const Affine&) {
    EXPECT_EQ(error_of([&] { builder.core(1, [] {}); }),
              "kernel 'nest': core(1) is inside a loop; loops belong to one core, open them inside "
              "of core().");
  });
  builder.core(0, [&] {
    EXPECT_EQ(error_of([&] { builder.core(1, [] {}); }),
              "kernel 'nest': core(1) is inside core(0).");
  });
  EXPECT_EQ(error_of([&] { builder.core(1, [&] { fail("inside"); }); }), "inside");
  builder.core(1, [&] { builder.emit(Memset{builder.sbuf("t", {1, 1}, Dtype::kFloat32), 0}); });
  EXPECT_EQ(builder.finish()->cores[1].size(), 1U);
}

TEST(BuilderCores, ReadUndefinedBytesOfTheirOwnTilesOnly) {
  Builder builder("undefined", trn2());
  const auto tile = [&](const char* label) { return builder.sbuf(label, {4, 8}, Dtype::kFloat32); };
  const View a = tile("a"), received = tile("received");
  builder.emit(Memset{a, 1});
  builder.emit(exchange_of(0, received, a));
  builder.emit(TensorCopy{tile("b"), received});
  builder.core(1, [&] {
    const View c = tile("c"), d = tile("d");
    builder.emit(exchange_of(1, c, d));  // d lies where a does, but nothing wrote it
    builder.emit(TensorCopy{d, c});
  });
  const auto program = builder.finish();
  const auto reads = undefined_reads(*program);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(describe(*program, reads[0]),
            "'sendrecv' reads bytes of operand 'src' (tile 'd') that nothing wrote.");
}

}  // namespace
}  // namespace neuron_sim
