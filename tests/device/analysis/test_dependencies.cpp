#include "device/analysis/dependencies.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

using Predecessors = std::vector<std::vector<uint32_t>>;

/// Tiles of 8 fp32 per partition, and a tensor.
class Bench {
 public:
  View tile(const char* label) { return builder.sbuf(label, {128, 8}, Dtype::kFloat32); }
  void copy(const View& dst, const View& src, EngineKind engine = EngineKind::kVector) {
    builder.emit(TensorCopy{dst, src, engine});
  }
  void move(const View& dst, const View& src) {
    builder.emit(DmaCopy{.dst = dst, .src = src, .engine = EngineKind::kSync});
  }
  Predecessors finish() { return dependencies(*builder.finish()); }

  Builder builder{"dependencies", load_architecture("trn2")};
  View x = builder.argument("x", {128, 8}, Dtype::kFloat32);
};

TEST(Dependencies, AreWritesBeforeReadsAndReadsAndWritesBeforeWrites) {
  Bench bench;
  const View a = bench.tile("a"), b = bench.tile("b"), c = bench.tile("c");
  bench.move(a, bench.x);                 // 0
  bench.copy(b, a);                       // 1 reads what 0 wrote
  bench.copy(c, a, EngineKind::kScalar);  // 2 as well
  bench.move(a, bench.x);                 // 3 overwrites what 1 and 2 read
  bench.copy(b, c, EngineKind::kScalar);  // 4 overwrites what 1 wrote
  EXPECT_EQ(bench.finish(), (Predecessors{{}, {0}, {0}, {0, 1, 2}, {1, 2}}));
}

TEST(Dependencies, OfTilesApartAreNone) {
  Bench bench;
  const View a = bench.tile("a"), b = bench.tile("b");
  bench.builder.emit(Memset{a.slice(1, 0, 4), 1, EngineKind::kVector});
  bench.builder.emit(Memset{a.slice(1, 4, 4), 2, EngineKind::kGpSimd});
  bench.copy(b.slice(1, 0, 1), a.slice(1, 3, 1), EngineKind::kScalar);
  bench.copy(b.slice(1, 1, 1), a.slice(1, 4, 1), EngineKind::kScalar);
  EXPECT_EQ(bench.finish(), (Predecessors{{}, {}, {0}, {1}}));
}

TEST(Dependencies, WithinAnEngineAreReadsOfWhatItWrote) {
  Bench bench;
  const View a = bench.tile("a"), b = bench.tile("b"), c = bench.tile("c");
  bench.builder.emit(Memset{a, 1, EngineKind::kVector});  // 0
  bench.copy(b, a);                                       // 1 reads it
  bench.copy(a, c);                                       // 2 overwrites it, in order
  EXPECT_EQ(bench.finish(), (Predecessors{{}, {0}, {}}));
}

TEST(Dependencies, OfSumsInPsumAreNotListed) {
  Bench bench;
  const View weights = bench.tile("weights"), moving = bench.tile("moving");
  const View sum = bench.builder.psum("sum", {8, 8});
  bench.builder.emit(Memset{weights, 1, EngineKind::kVector});                         // 0
  bench.builder.emit(NcMatmul{.dst = sum, .stationary = weights, .moving = weights});  // 1
  bench.builder.emit(
      NcMatmul{.dst = sum, .stationary = weights, .moving = weights, .accumulate = true});  // 2
  bench.copy(moving.slice(0, 0, 8), sum);                                                   // 3
  EXPECT_EQ(bench.finish(), (Predecessors{{}, {0}, {0}, {2}}));
}

TEST(Dependencies, AreThoseOfEveryIteration) {
  Bench bench;
  const View a = bench.tile("a"), b = bench.tile("b");
  bench.builder.loop(3, [&](const Affine& i) {
    bench.move(a.slice(1, i, 1), bench.x.slice(1, i, 1));
    bench.copy(b.slice(1, i, 1), a.slice(1, i, 1));
  });
  EXPECT_EQ(bench.finish(), (Predecessors{{}, {0}, {}, {2}, {}, {4}}));
}

TEST(Dependencies, OfTwoCoresAreAnError) {
  Bench bench;
  bench.builder.core(1, [&] {
    const View a = bench.tile("a");
    bench.builder.emit(Memset{a, 1, EngineKind::kVector});
  });
  try {
    bench.finish();
    FAIL() << "two cores";
  } catch (const KernelError& error) {
    EXPECT_STREQ(error.what(),
                 "the dependencies of kernel 'dependencies' span 2 cores; those of one core are "
                 "known.");
  }
}

TEST(Dependencies, OfALoopWithItsTripCountInARegisterAreAnError) {
  Bench bench;
  const int trips = bench.builder.allocate_register();
  bench.builder.loop_register(EngineKind::kVector, trips, 4, [&](const Affine&) {
    bench.builder.emit(Memset{bench.tile("a"), 1, EngineKind::kVector});
  });
  try {
    bench.finish();
    FAIL() << "a register";
  } catch (const KernelError& error) {
    EXPECT_STREQ(error.what(),
                 "the dependencies of kernel 'dependencies' depend on data: a loop has its trip "
                 "count in a register.");
  }
}

}  // namespace
}  // namespace neuron_sim
