#include "device/compiler/middle_end/forward_stores.h"

#include "device/compiler/tiles/transfer_rows.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/compiler/transfers.h"

namespace neuron_sim {
namespace {

using Left = TransfersLeft;

TEST(ForwardStores, AStoreThatIsLoadedAgainBecomesACopyAndThenNothing) {
  const auto program = [] {
    TransferKernel kernel;
    const View between = kernel.scratch(64);
    kernel.copy(between, kernel.input(64));
    const View again = kernel.loaded(between), sum = kernel.tile(64);
    kernel.builder.emit(
        TensorTensor{.dst = sum, .data1 = again, .data2 = again, .op = AluOp::kAdd});
    kernel.output(sum);
    return kernel.finish();
  };
  EXPECT_EQ(forwarded(program()), (Left{0, 0, 1}));
  EXPECT_EQ(forwarded(program(), Copies::kEliminated), (Left{0, 0, 0}));
}

TEST(ForwardStores, AStoreWithoutLoadsDisappearsFromScratchAndStaysInAnArgument) {
  for (const bool is_argument : {false, true}) {
    TransferKernel kernel;
    const View between = is_argument ? kernel.builder.argument("between", {128, 8}, Dtype::kFloat32)
                                     : kernel.scratch(8);
    const View values = kernel.input(8);
    kernel.copy(between, values);
    kernel.output(values);
    EXPECT_EQ(forwarded(kernel.finish()), (Left{is_argument ? 1 : 0, 0, 0}));
  }
}

TEST(ForwardStores, AStoreToAnArgumentIsForwardedAndStays) {
  TransferKernel kernel;
  const View between = kernel.builder.argument("between", {128, 8}, Dtype::kFloat32);
  kernel.copy(between, kernel.input(8));
  kernel.output(kernel.loaded(between));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{1, 0, 1}));
}

TEST(ForwardStores, StoresThatTogetherMakeUpALoadBecomeACopyEach) {
  TransferKernel kernel;
  const View between = kernel.scratch(12);
  kernel.copy(between.slice(1, 7, 5), kernel.input(5));
  kernel.copy(between.slice(1, 0, 4), kernel.input(4));
  kernel.copy(between.slice(1, 4, 3), kernel.input(3));
  kernel.output(kernel.loaded(between));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 3}));
}

/// Stores tiles of two images [channels, 2, 64] to a tensor [2, channels, 64], one tile for each
/// 16 channels, and loads those of 16 channels from `first` on into rows of `width` elements.
Left with_images(int64_t first, int64_t width, Copies copies = Copies::kStay) {
  TransferKernel kernel;
  const View between = kernel.scratch({2, 32, 64});
  const auto channels = [&](int64_t begin) {
    return between.slice(1, begin, 16).permute({1, 0, 2});
  };
  for (const int64_t begin : {0, 16}) kernel.copy(channels(begin), kernel.input({16, 2, 64}));
  const View padded = kernel.tile({16, 2, width});
  kernel.builder.emit(Memset{padded, 1.0});
  kernel.copy(padded.slice(2, 0, 64), channels(first));
  kernel.output(padded);
  return forwarded(kernel.finish(), copies);
}

TEST(ForwardStores, TheImagesOfATileBecomeOneCopy) {
  EXPECT_EQ(with_images(0, 64), (Left{0, 0, 1}));
  EXPECT_EQ(with_images(16, 64), (Left{0, 0, 1}));
  EXPECT_EQ(with_images(16, 66), (Left{0, 0, 1})) << "into wider rows";
  EXPECT_EQ(with_images(8, 64), (Left{2, 1, 0})) << "other channels on the partitions";
}

TEST(ForwardStores, RunsOfATileMayLieInAnyOrder) {
  // [tokens, heads, blocks of tokens, width], as attention has its tiles, of [blocks, tokens, ...].
  TransferKernel kernel;
  const View between = kernel.scratch({4, 16, 2, 8});
  kernel.copy(between.permute({1, 2, 0, 3}), kernel.input({16, 2, 4, 8}));
  kernel.output(kernel.loaded(between.select(0, 2)));
  kernel.output(kernel.loaded(between.permute({1, 2, 0, 3})));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 2}));
}

TEST(ForwardStores, RunsThatShareElementsAreLoaded) {
  for (const int64_t step : {7, 8}) {
    TransferKernel kernel;
    const View between = kernel.scratch(16);
    kernel.copy(between, kernel.input(16));
    kernel.output(kernel.loaded(between.pattern({{128, 16}, {2, step}, {8, 1}}, 0)));
    EXPECT_EQ(forwarded(kernel.finish()), (step < 8 ? Left{1, 1, 0} : Left{0, 0, 1}));
  }
}

TEST(ForwardStores, AnImageOfATileThatWasOverwrittenIsLoaded) {
  TransferKernel kernel;
  const View between = kernel.scratch({2, 16, 64});
  kernel.copy(between.permute({1, 0, 2}), kernel.input({16, 2, 64}));
  kernel.copy(between.select(0, 1).slice(1, 3, 5), kernel.input({16, 5}));
  kernel.output(kernel.loaded(between.select(0, 0)));
  kernel.output(kernel.loaded(between.permute({1, 0, 2})));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{2, 1, 1}));
}

TEST(ForwardStores, MoreRunsThanCountAreLoaded) {
  const auto left = [](int64_t images) {
    TransferKernel kernel;
    const View between = kernel.scratch({images, 16, 4});
    kernel.copy(between.permute({1, 0, 2}), kernel.input({16, images, 4}));
    kernel.output(kernel.loaded(between.permute({1, 0, 2})));
    return forwarded(kernel.finish());
  };
  EXPECT_EQ(left(kTransferRuns), (Left{0, 0, 1}));
  EXPECT_EQ(left(kTransferRuns + 1), (Left{1, 1, 0}));
}

TEST(ForwardStores, APartOfAStoreIsLoadedFromItsTile) {
  TransferKernel kernel;
  const View between = kernel.scratch(12);
  kernel.copy(between, kernel.input(12));
  kernel.output(kernel.loaded(between.slice(1, 5, 6)));
  kernel.output(kernel.loaded(between.slice(1, 11, 1)));
  kernel.output(kernel.loaded(between.slice(1, 0, 1)));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 3}));
}

TEST(ForwardStores, ALoadAcrossTheBorderOfTwoStoresTakesAPartOfEach) {
  TransferKernel kernel;
  const View between = kernel.scratch(12);
  kernel.copy(between.slice(1, 0, 6), kernel.input(6));
  kernel.copy(between.slice(1, 6, 6), kernel.input(6));
  kernel.output(kernel.loaded(between.slice(1, 4, 5)));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 2}));
}

TEST(ForwardStores, ALoadOfBytesThatNothingStoredStays) {
  for (const int64_t gap : {0, 5, 11}) {
    TransferKernel kernel;
    const View between = kernel.scratch(12);
    if (gap > 0) kernel.copy(between.slice(1, 0, gap), kernel.input(gap));
    if (gap < 11) kernel.copy(between.slice(1, gap + 1, 11 - gap), kernel.input(11 - gap));
    kernel.output(kernel.loaded(between));
    EXPECT_EQ(forwarded(kernel.finish()), (Left{gap % 11 == 0 ? 1 : 2, 1, 0})) << gap;
  }
}

TEST(ForwardStores, RowsThatALoadBringsToOtherPartitionsStay) {
  {
    SCOPED_TRACE("half as many partitions, rows twice as long");
    TransferKernel kernel;
    const View between = kernel.scratch(8);
    kernel.copy(between, kernel.input(8));
    kernel.output(kernel.loaded(between.pattern({{64, 16}, {16, 1}}, 0)));
    EXPECT_EQ(forwarded(kernel.finish()), (Left{1, 1, 0}));
  }
  for (const int64_t first : {0, 1}) {
    SCOPED_TRACE(first == 0 ? "the second half of the partitions" : "the next row");
    TransferKernel kernel;
    const View between = kernel.scratch({64, 8});
    kernel.copy(between, kernel.input({64, 8}));
    const View values = kernel.input(8);
    kernel.copy(values.slice(0, first == 0 ? 64 : 0, 63), between.slice(0, first, 63));
    kernel.output(values);
    EXPECT_EQ(forwarded(kernel.finish()), (Left{1, 1, 0}));
  }
  {
    SCOPED_TRACE("every second row");
    TransferKernel kernel;
    const View between = kernel.scratch(8);
    kernel.copy(between, kernel.input(8));
    kernel.output(kernel.loaded(between.slice(0, 0, 64, 2)));
    EXPECT_EQ(forwarded(kernel.finish()), (Left{1, 1, 0}));
  }
}

TEST(ForwardStores, RowsOfFewerPartitionsAreForwardedAndOfMoreAreNot) {
  for (const int64_t partitions : {1, 5, 64, 65}) {
    TransferKernel kernel;
    const View between = kernel.scratch(8);
    kernel.copy(between.slice(0, 0, 64), kernel.input({64, 8}));
    kernel.output(kernel.loaded(between.slice(0, 0, partitions)));
    EXPECT_EQ(forwarded(kernel.finish()), (partitions <= 64 ? Left{0, 0, 1} : Left{1, 1, 0}))
        << partitions;
  }
}

TEST(ForwardStores, RowsOfOnePartitionAreForwardedAcrossTheBordersOfLongerRows) {
  TransferKernel kernel;
  const View between = kernel.scratch({2, 8});
  kernel.copy(between.slice(0, 0, 1), kernel.input({1, 8}));
  kernel.copy(between.slice(0, 1, 1), kernel.input({1, 8}));
  kernel.output(kernel.loaded(between.pattern({{1, 8}, {8, 1}}, 4)));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 2}));
}

/// Stores columns 0 .. 3 of eight, writes `count` columns from `first` on in SBUF, loads them.
Left with_tile_overwritten(int64_t first, int64_t count) {
  TransferKernel kernel;
  const View between = kernel.scratch(4), values = kernel.input(8);
  kernel.copy(between, values.slice(1, 0, 4));
  kernel.builder.emit(Memset{values.slice(1, first, count), 3.0});
  kernel.output(kernel.loaded(between));
  kernel.output(values);
  return forwarded(kernel.finish());
}

TEST(ForwardStores, ALoadStaysWhenTheTileWasOverwrittenWhereItWasStored) {
  EXPECT_EQ(with_tile_overwritten(3, 1), (Left{1, 1, 0}));
  EXPECT_EQ(with_tile_overwritten(0, 6), (Left{1, 1, 0}));
  EXPECT_EQ(with_tile_overwritten(4, 4), (Left{0, 0, 1}));
}

TEST(ForwardStores, ALoadTakesWhatWasStoredLast) {
  TransferKernel kernel;
  const View between = kernel.scratch(8);
  kernel.copy(between, kernel.input(8));
  kernel.copy(between, kernel.input(8));
  kernel.output(kernel.loaded(between));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{0, 0, 1}));
}

TEST(ForwardStores, ALoadAcrossAStoreThatWasOverwrittenInPartStays) {
  const auto program = [](int64_t first, int64_t columns) {
    TransferKernel kernel;
    const View between = kernel.scratch(8);
    kernel.copy(between, kernel.input(8));
    kernel.copy(between.slice(1, 2, 3), kernel.input(3));
    kernel.output(kernel.loaded(between.slice(1, first, columns)));
    return kernel.finish();
  };
  EXPECT_EQ(forwarded(program(0, 8)), (Left{2, 1, 0}));
  EXPECT_EQ(forwarded(program(1, 2)), (Left{2, 1, 0}));
  EXPECT_EQ(forwarded(program(2, 3)), (Left{0, 0, 1}));
}

TEST(ForwardStores, TransfersThatCastStay) {
  for (const bool store_casts : {false, true}) {
    TransferKernel kernel;
    const View between = kernel.scratch(8);
    kernel.copy(between, kernel.input({128, 8}, store_casts ? Dtype::kBfloat16 : Dtype::kFloat32));
    const View values = kernel.tile({128, 8}, store_casts ? Dtype::kFloat32 : Dtype::kBfloat16);
    kernel.copy(values, between);
    kernel.output(values);
    EXPECT_EQ(forwarded(kernel.finish()), (Left{1, 1, 0}));
  }
}

TEST(ForwardStores, BytesThatAreLoadedAsAnotherDtypeStay) {
  TransferKernel kernel;
  const View between = kernel.scratch(8);
  kernel.copy(between, kernel.input(8));
  kernel.output(kernel.loaded(between.reinterpret(Dtype::kInt32)));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{1, 1, 0}));
}

TEST(ForwardStores, ALoadOfASumInHbmStays) {
  TransferKernel kernel;
  const View between = kernel.scratch(8);
  kernel.copy(between, kernel.input(8));
  const View more = kernel.input(8);
  kernel.builder.emit(DmaCopy{.dst = between, .src = more, .dst_rmw_add = true});
  kernel.output(kernel.loaded(between));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{2, 1, 0}));
}

TEST(ForwardStores, RowsByIndexStay) {
  for (const bool gathers : {false, true}) {
    TransferKernel kernel;
    std::vector<std::byte> rows(8 * sizeof(int32_t));
    for (size_t i = 0; i < 8; ++i) rows[i * sizeof(int32_t)] = std::byte((3 * i + 1) % 8);
    const View index = kernel.tile({8, 1}, Dtype::kInt32);
    kernel.copy(index, kernel.builder.constant("rows", {8, 1}, Dtype::kInt32, std::move(rows)));
    const View between = kernel.scratch({8, 6}), values = kernel.input({8, 6});
    const View table = between.indirect(8), found = kernel.tile({8, 6});
    kernel.copy(between, values);
    if (gathers) {
      kernel.builder.emit(DmaCopy{.dst = found, .src = table, .index = index});
    } else {
      kernel.builder.emit(DmaCopy{.dst = table, .src = values, .index = index});
      kernel.copy(found, between);
    }
    kernel.output(found);
    EXPECT_EQ(forwarded(kernel.finish()), (Left{gathers ? 1 : 2, 1, 0}));
  }
}

TEST(ForwardStores, TransfersWithinHbmStayAndSoDoesWhatTheyTouch) {
  TransferKernel kernel;
  const View between = kernel.scratch(8), other = kernel.scratch(8);
  kernel.copy(between, kernel.input(8));
  kernel.copy(other, between);
  kernel.output(kernel.loaded(other));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{2, 2, 0}));
}

TEST(ForwardStores, StoresStayForALoadThatStays) {
  TransferKernel kernel;
  const View between = kernel.scratch(8);
  kernel.copy(between, kernel.input(8));
  kernel.output(kernel.loaded(between));
  kernel.output(kernel.loaded(between.pattern({{64, 16}, {16, 1}}, 0)));
  EXPECT_EQ(forwarded(kernel.finish()), (Left{1, 1, 1}));
}

}  // namespace
}  // namespace neuron_sim
