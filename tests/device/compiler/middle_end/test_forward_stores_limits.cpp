// forward_stores where layouts differ, where SBUF is full, within one tile and in loops.

#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "tests/device/compiler/transfers.h"

namespace neuron_sim {
namespace {

using Left = TransfersLeft;

/// A load of `rows` times 64 elements per partition into a tile with a column more in each row.
Left with_padded_target(int64_t rows) {
  TransferKernel kernel;
  const View between = kernel.scratch({16, rows, 64});
  kernel.copy(between, kernel.input({16, rows, 64}));
  const View padded = kernel.tile({16, rows, 65});
  kernel.builder.emit(Memset{padded, 1.0});
  kernel.copy(padded.slice(2, 1, 64), between);
  kernel.output(padded);
  return forwarded(kernel.finish(), Copies::kEliminated);
}

TEST(ForwardStores, ALoadOfAnotherLayoutBecomesACopyWhenItIsShort) {
  ASSERT_EQ(kForwardedElements, 2048);
  EXPECT_EQ(with_padded_target(2), (Left{0, 0, 1}));
  EXPECT_EQ(with_padded_target(32), (Left{0, 0, 1}));
  EXPECT_EQ(with_padded_target(33), (Left{1, 1, 0}));
}

TEST(ForwardStores, ALoadOfTheSameLayoutMayHaveAnyLength) {
  TransferKernel kernel;
  const View between = kernel.scratch({16, 5000});
  kernel.copy(between, kernel.input({16, 5000}));
  kernel.output(kernel.loaded(between));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 1}));
}

TEST(ForwardStores, PartsOfAPaddedSourceAreFoundWhereTheyLie) {
  // Columns 1 .. 4 of six in three rows: row-major they are elements 0 .. 11 of the store.
  const auto program = [](int64_t first, int64_t count) {
    TransferKernel kernel;
    const View between = kernel.scratch({16, 12}), values = kernel.input({16, 3, 6});
    kernel.copy(between, values.slice(2, 1, 4));
    kernel.output(kernel.loaded(between.slice(1, first, count)));
    return kernel.finish();
  };
  EXPECT_EQ(forwarded(program(0, 12)), (Left{0, 0, 1}));
  EXPECT_EQ(forwarded(program(4, 8)), (Left{0, 0, 1}));
  EXPECT_EQ(forwarded(program(5, 3)), (Left{0, 0, 1}));
  EXPECT_EQ(forwarded(program(8, 1)), (Left{0, 0, 1}));
  EXPECT_EQ(forwarded(program(3, 2)), (Left{1, 1, 0})) << "elements of two rows are no pattern";
}

/// Stores `count` tiles of 16 KiB per partition one after the other, then loads them.
Left with_tiles(int64_t count) {
  TransferKernel kernel;
  const int64_t columns = 4096;
  std::vector<View> between;
  for (int64_t i = 0; i < count; ++i) {
    between.push_back(kernel.scratch({4, columns}));
    kernel.builder.scope([&] { kernel.copy(between.back(), kernel.input({4, columns})); });
  }
  for (const View& each : between) {
    kernel.builder.scope([&] { kernel.output(kernel.loaded(each)); });
  }
  return forwarded(kernel.finish());
}

TEST(ForwardStores, LoadsStayThatWouldKeepMoreTilesThanTheirPartOfSbuf) {
  const int64_t usable = load_architecture("trn2").limits.sbuf_usable.count;
  const int64_t room = (usable - kDescriptorBytes) / kForwardingParts;
  const int64_t fit = room / (4096 * 4) - 1;  // all of them and the first one's copy
  EXPECT_EQ(with_tiles(fit), (Left{0, 0, fit}));
  EXPECT_EQ(with_tiles(fit + 1), (Left{1, 1, fit}));
  EXPECT_EQ(with_tiles(fit + 2), (Left{2, 2, fit}));
}

TEST(ForwardStores, HalvesThatChangePlacesInOneTileAreLoaded) {
  TransferKernel kernel;
  const View values = kernel.input(9), between = kernel.scratch(8);
  kernel.copy(between.slice(1, 4, 4), values.slice(1, 0, 4));
  kernel.copy(between.slice(1, 0, 4), values.slice(1, 4, 4));
  kernel.copy(values.slice(1, 0, 8), between);
  kernel.output(values);  // column 8 keeps all of it one version
  EXPECT_EQ(forwarded(kernel.finish()), (Left{2, 1, 0}));
}

TEST(ForwardStores, ColumnsThatMoveWithinTheirTileAreLoadedWhereTheyOverlap) {
  for (const int64_t by : {0, 1, 3, 4, 5}) {
    TransferKernel kernel;
    const View values = kernel.input(10), between = kernel.scratch(4);
    kernel.copy(between, values.slice(1, 0, 4));
    kernel.copy(values.slice(1, by, 4), between);
    kernel.output(values);
    EXPECT_EQ(forwarded(kernel.finish()), (by < 4 ? Left{1, 1, 0} : Left{0, 0, 1})) << by;
  }
}

TEST(ForwardStores, LoopsAreFollowedTripByTrip) {
  const auto program = [] {
    TransferKernel kernel;
    const View in = kernel.builder.argument("in", {4, 128, 8}, Dtype::kFloat32);
    const View out = kernel.builder.argument("out", {4, 128, 8}, Dtype::kFloat32);
    const View between = kernel.scratch({4, 128, 8});
    kernel.builder.loop(4, [&](const Affine& i) {
      kernel.copy(between.select(0, i), kernel.loaded(in.select(0, i)));
    });
    kernel.builder.loop(4, [&](const Affine& i) {
      const View values = kernel.loaded(between.select(0, i)), square = kernel.tile(8);
      kernel.builder.emit(
          TensorTensor{.dst = square, .data1 = values, .data2 = values, .op = AluOp::kMultiply});
      kernel.copy(out.select(0, i), square);
    });
    return kernel.finish();
  };
  EXPECT_EQ(forwarded(program()), (Left{0, 0, 4}));
  EXPECT_EQ(forwarded(program(), Copies::kEliminated), (Left{0, 0, 0}));
}

TEST(ForwardStores, ASumThatALoopCarriesInHbmStaysInSbuf) {
  TransferKernel kernel;
  const View in = kernel.builder.argument("in", {5, 128, 8}, Dtype::kFloat32);
  const View between = kernel.scratch(8);
  kernel.copy(between, kernel.input(8));
  kernel.builder.loop(5, [&](const Affine& i) {
    const View sum = kernel.loaded(between), more = kernel.loaded(in.select(0, i));
    kernel.builder.emit(TensorTensor{.dst = sum, .data1 = sum, .data2 = more, .op = AluOp::kAdd});
    kernel.copy(between, sum);
  });
  kernel.output(kernel.loaded(between));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 6}));
}

TEST(ForwardStores, EveryDtypeKeepsItsBits) {
  for (const Dtype dtype : {Dtype::kBool, Dtype::kInt8, Dtype::kInt16, Dtype::kInt32,
                            Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat8E5m2}) {
    TransferKernel kernel;
    const View between = kernel.scratch({128, 8}, dtype);
    kernel.copy(between, kernel.input({128, 8}, dtype));
    kernel.output(kernel.loaded(between.slice(1, 1, 5)));
    EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 1})) << name(dtype);
  }
}

}  // namespace
}  // namespace neuron_sim
