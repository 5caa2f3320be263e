#include "device/execute/loads_in_place.h"

#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_transpose.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// A product of two tensors, whose tiles a test loads as it likes.
struct Product {
  explicit Product(Dtype dtype = Dtype::kFloat32)
      : builder("product", load_architecture("trn2")),
        a(builder.argument("a", {64, 48}, dtype)),
        b(builder.argument("b", {64, 64}, dtype)),
        output(builder.argument("output", {48, 64}, Dtype::kFloat32)),
        stationary(builder.sbuf("stationary", {64, 48}, dtype)),
        moving(builder.sbuf("moving", {64, 64}, dtype)),
        sum(builder.psum("sum", {48, 64}, Dtype::kFloat32)),
        result(builder.sbuf("result", {48, 64}, Dtype::kFloat32)) {}

  void load(const View& dst, const View& src) { builder.emit(DmaCopy{.dst = dst, .src = src}); }
  void load_both() {
    load(stationary, a);
    load(moving, b);
  }
  void multiply() { multiply(stationary, moving); }
  void multiply(const View& weights, const View& stream) {
    builder.emit(NcMatmul{.dst = sum, .stationary = weights, .moving = stream});
  }
  /// Loads that need not run, after a comparison with an interpretation in program order.
  int64_t omitted() {
    builder.emit(TensorCopy{result, sum});
    load(output, result);
    return omitted_transfers(builder.finish(), MemoryKind::kSbuf);
  }

  Builder builder;
  View a, b, output, stationary, moving, sum, result;
};

TEST(LoadsInPlace, OperandsThatOnlyAProductReadsStayInHbm) {
  Product product;
  product.load_both();
  product.multiply();
  EXPECT_EQ(product.omitted(), 2);
}

TEST(LoadsInPlace, WhatATransposeReadsIsLoaded) {
  Product product;
  const View turned = product.builder.psum("turned", {48, 64}, Dtype::kFloat32);
  product.load(product.stationary, product.a);
  product.builder.emit(NcTranspose{.dst = turned, .data = product.stationary});
  product.builder.emit(TensorCopy{product.result, turned});
  product.load(product.output, product.result);
  product.load(product.moving, product.b);
  product.multiply();
  EXPECT_EQ(product.omitted(), 1);
}

/// A product whose moving operand is b.T, transposed on chip in pieces of so many columns, with
/// groups of two pieces in a bank, as ContractionLoader does.
struct TransposedProduct : Product {
  TransposedProduct(Dtype dtype, int64_t columns) : Product(dtype) {
    load(stationary, a);
    const View bank = builder.psum("bank", {32, 2, columns}, dtype);
    for (int64_t first = 0; first < 64; first += columns) {
      const View rows = builder.sbuf("rows", {columns, 64}, dtype);
      load(rows, b.slice(0, first, columns));
      for (int64_t half = 0; half < 2; ++half) {
        builder.emit(NcTranspose{.dst = bank.select(1, half),
                                 .data = rows.slice(1, half * 32, 32),
                                 .engine = EngineKind::kTensor});
      }
      builder.emit(TensorCopy{blocks.slice(2, first, columns), bank});
    }
  }
  void multiply_halves(int64_t times = 1) {
    for (int64_t half = 0; half < 2 * times; ++half) {
      builder.emit(NcMatmul{.dst = sum,
                            .stationary = stationary.slice(0, half % 2 * 32, 32),
                            .moving = blocks.select(1, half % 2),
                            .accumulate = half > 0});
    }
  }

  View blocks = builder.sbuf("blocks", {32, 2, 64}, a.dtype());
};

TEST(LoadsInPlace, OperandsThatAreTransposedOnChipStayInHbm) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kFloat16}) {
    for (const int64_t columns : {16, 32, 64}) {
      TransposedProduct product(dtype, columns);
      product.multiply_halves();
      const int64_t in_hbm = dtype == Dtype::kFloat32 ? 1 : 0;  // others have fp32 copies
      EXPECT_EQ(product.omitted(), 64 / columns + in_hbm);
    }
  }
}

TEST(LoadsInPlace, OperandsThatAreTransposedForManyProductsAreLoaded) {
  TransposedProduct twice(Dtype::kFloat32, 32), often(Dtype::kFloat32, 32);
  twice.multiply_halves(2);
  often.multiply_halves(3);
  EXPECT_EQ(twice.omitted(), 3);
  EXPECT_EQ(often.omitted(), 1);
}

TEST(LoadsInPlace, TransposedBytesThatAnotherEngineReadsAreLoaded) {
  TransposedProduct product(Dtype::kFloat32, 32);
  product.multiply_halves();
  product.builder.emit(TensorCopy{product.result.slice(0, 0, 32), product.blocks.select(1, 1)});
  EXPECT_EQ(product.omitted(), 1);
}

TEST(LoadsInPlace, TransposedBytesOverwrittenInPartAreLoaded) {
  TransposedProduct product(Dtype::kFloat32, 32);
  product.builder.emit(Memset{product.blocks.select(1, 0).slice(1, 3, 2), 3});
  product.multiply_halves();
  EXPECT_EQ(product.omitted(), 1);
}

TEST(LoadsInPlace, RowsColumnsAndStridesOfALoadAreFoundInItsSource) {
  Product product;
  const View whole = product.builder.sbuf("whole", {64, 2, 64}, Dtype::kFloat32);
  product.load(whole.select(1, 0), product.b);
  product.load(whole.select(1, 1), product.b);
  product.load(product.stationary, product.a);
  product.multiply(product.stationary.slice(0, 32, 32), whole.select(1, 1).slice(0, 32, 32));
  product.multiply(product.stationary, whole.select(1, 0));
  EXPECT_EQ(product.omitted(), 3);
}

TEST(LoadsInPlace, ATransferInAnotherOrderIsReadInItsOrder) {
  Product product;
  // Element [p, i, j] of the tile is element [p, j, i] of the tensor.
  const View tile = product.moving.split(1, 8, 8);
  product.load(tile, product.b.split(1, 8, 8).permute({0, 2, 1}));
  product.load(product.stationary, product.a);
  product.multiply(product.stationary, tile);
  EXPECT_EQ(product.omitted(), 2);
}

TEST(LoadsInPlace, BytesThatAnotherEngineReadsAreLoaded) {
  Product product;
  product.load_both();
  product.multiply();
  const View sums = product.builder.sbuf("sums", {64, 1}, Dtype::kFloat32);
  product.builder.emit(TensorReduce{.dst = sums, .data = product.moving});
  EXPECT_EQ(product.omitted(), 1);
}

TEST(LoadsInPlace, WhatElementWiseInstructionsReadStaysInHbm) {
  Product product;
  product.load_both();
  product.multiply();
  product.builder.emit(TensorCopy{product.result, product.moving.slice(0, 0, 48)});
  EXPECT_EQ(product.omitted(), 2);
}

TEST(LoadsInPlace, ColumnsThatAnElementWiseInstructionReadsAreLoaded) {
  Product product;
  product.load(product.stationary, product.a);
  product.load(product.moving, product.b.permute({1, 0}));
  product.builder.emit(TensorScalar{
      .dst = product.moving, .data = product.moving, .op0 = AluOp::kMultiply, .constant0 = 2});
  product.multiply();
  EXPECT_EQ(product.omitted(), 1);
}

TEST(LoadsInPlace, AShorterLoadIntoTheSameTileLeavesALongerOneInHbm) {
  Product product;
  product.load_both();
  product.multiply();
  product.load(product.moving.slice(0, 0, 32), product.b.slice(0, 32, 32));
  product.multiply(product.stationary.slice(0, 0, 32), product.moving.slice(0, 0, 32));
  EXPECT_EQ(product.omitted(), 3);
}

TEST(LoadsInPlace, AnOperandOfTwoTransfersIsLoaded) {
  Product product;
  product.load(product.stationary, product.a);
  product.load(product.moving.slice(1, 0, 32), product.b.slice(1, 0, 32));
  product.load(product.moving.slice(1, 32, 32), product.b.slice(1, 32, 32));
  product.multiply();
  EXPECT_EQ(product.omitted(), 1);
}

TEST(LoadsInPlace, BytesOverwrittenInPartAreLoaded) {
  Product product;
  product.load_both();
  product.builder.emit(Memset{product.moving.slice(1, 5, 1), 3});
  product.multiply();
  EXPECT_EQ(product.omitted(), 1);
}

TEST(LoadsInPlace, BytesOverwrittenAfterTheLastProductStayInHbm) {
  Product product;
  product.load_both();
  product.multiply();
  product.builder.emit(Memset{product.moving, 3});
  product.multiply();
  EXPECT_EQ(product.omitted(), 2);
}

TEST(LoadsInPlace, ATensorThatTheProgramWritesIsLoaded) {
  Product product;
  const View again = product.builder.sbuf("again", {32, 64}, Dtype::kFloat32);
  product.load(product.stationary, product.a);
  product.load(again, product.output.slice(0, 0, 32));
  product.multiply(product.stationary.slice(0, 0, 32), again);
  EXPECT_EQ(product.omitted(), 1);
}

TEST(LoadsInPlace, TilesWithACopyInFp32AreLoaded) {
  for (const Dtype dtype : {Dtype::kBfloat16, Dtype::kFloat16}) {
    Product product(dtype);
    product.load_both();
    product.multiply();
    EXPECT_EQ(product.omitted(), 0);
  }
}

TEST(LoadsInPlace, RandomProgramsStoreTheBytesOfAnInterpretation) {
  int64_t omitted = 0;
  for (uint64_t seed = 500; seed < 560; ++seed) {
    RandomProgramOptions options{
        .longest_loop = 4, .blocks = 6, .matmul_share = 60, .moving_windows = 30};
    const auto program = RandomProgram(seed, load_architecture("trn2"), options).build();
    const ExecutionPlan plan = make_plan(*program);
    omitted += plan.graph.replaced.empty() ? 0 : 1;
    for (const int threads : {1, 2}) {
      ASSERT_TRUE(is_like_interpretation(program, plan, seed, threads))
          << "seed " << seed << ", threads " << threads;
    }
  }
  EXPECT_GT(omitted, 0);
}

}  // namespace
}  // namespace neuron_sim
