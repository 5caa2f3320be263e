#include "device/compiler/batching/merge_dma.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

using Widths = std::vector<int64_t>;

/// out = in + 1 by tiles of [partitions, columns], side by side in the rows of the tensor.
struct Tiles {
  int64_t tiles = 4, columns = 512, partitions = 128;
  Dtype dtype = Dtype::kFloat32;
  bool stacked = false;  ///< below each other in the tensor instead
  Dtype out_dtype = Dtype::kFloat32;

  std::shared_ptr<const Program> program() const {
    Builder builder("tiles", load_architecture("trn2"));
    const View in = tensor(builder, "in", dtype), out = tensor(builder, "out", out_dtype);
    builder.loop(tiles, [&](const Affine& i) {
      const View data = builder.sbuf("data", {partitions, columns}, dtype);
      const View result = builder.sbuf("result", {partitions, columns}, dtype);
      builder.emit(DmaCopy{.dst = data, .src = block(in, i)});
      builder.emit(TensorScalar{.dst = result, .data = data, .op0 = AluOp::kAdd, .constant0 = 1});
      builder.emit(DmaCopy{.dst = block(out, i), .src = result});
    });
    return builder.finish();
  }

 private:
  View tensor(Builder& builder, const std::string& label, Dtype type) const {
    return stacked ? builder.argument(label, {tiles, partitions, columns}, type)
                   : builder.argument(label, {partitions, tiles * columns}, type);
  }
  View block(const View& tensor, const Affine& i) const {
    return stacked ? tensor.select(0, i) : tensor.slice(1, i * columns, columns);
  }
};

StraightLine merged(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "merge_dma", {{"merge_input_loads", 1}});
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return line;
}

TEST(MergeDma, TwoTilesOfTwoKilobytesPerPartitionAreOneTransfer) {
  for (const bool stacked : {false, true}) {
    const StraightLine line = merged(Tiles{.stacked = stacked}.program());
    EXPECT_EQ(widths(line, "dma_copy"), Widths(4, 1024));
    const std::vector<std::string_view> half{"dma_copy", "tensor_scalar", "tensor_scalar",
                                             "dma_copy"};
    std::vector<std::string_view> both = half;
    both.insert(both.end(), half.begin(), half.end());
    EXPECT_EQ(names(line), both);
  }
}

TEST(MergeDma, ATransferHasAtMost4096BytesPerPartition) {
  EXPECT_EQ(widths(merged(Tiles{.tiles = 2, .columns = 512}.program()), "dma_copy"),
            (Widths{1024, 1024}));
  EXPECT_EQ(widths(merged(Tiles{.tiles = 2, .columns = 513}.program()), "dma_copy"),
            Widths(4, 513));
}

TEST(MergeDma, RowsBelow256BytesStay) {
  EXPECT_EQ(widths(merged(Tiles{.tiles = 3, .columns = 64}.program()), "dma_copy"),
            (Widths{192, 192}));
  EXPECT_EQ(widths(merged(Tiles{.tiles = 3, .columns = 63}.program()), "dma_copy"), Widths(6, 63));
}

TEST(MergeDma, CastsCountTheWiderSideAndOddTilesKeepTheirBytes) {
  const Tiles cast{.tiles = 5, .columns = 300, .partitions = 37, .out_dtype = Dtype::kBfloat16};
  EXPECT_EQ(widths(merged(cast.program()), "dma_copy", 1), (Widths{900, 900, 600, 600}));
  const Tiles one{.tiles = 7, .columns = 130, .partitions = 1, .dtype = Dtype::kBfloat16};
  EXPECT_EQ(widths(merged(one.program()), "dma_copy", 1), (Widths{910, 910}));
}

TEST(MergeDma, LoadsOfInputsAreMergedOnlyWhenAsked) {
  StraightLine line = renamed_line(*Tiles{}.program());
  run_pass(line, "merge_dma");
  EXPECT_EQ(widths(line, "dma_copy", 1), (Widths{512, 512, 1024, 512, 512, 1024}));
}

TEST(MergeDma, TransfersThatDependOnEachOtherThroughHbmStay) {
  Builder builder("shift", load_architecture("trn2"));
  const View rows = builder.argument("rows", {128, 5 * 256}, Dtype::kFloat32);
  builder.loop(4, [&](const Affine& i) {
    const View data = builder.sbuf("data", {128, 256}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = data, .src = rows.slice(1, i * 256, 256)});
    builder.emit(DmaCopy{.dst = rows.slice(1, i * 256 + 256, 256), .src = data});
  });
  EXPECT_EQ(widths(merged(builder.finish()), "dma_copy", 1), Widths(8, 256));
}

TEST(MergeDma, TilesAtIrregularDistancesStay) {
  Builder builder("ring", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 512}, Dtype::kFloat32);
  const View out = builder.argument("out", {3, 128, 128}, Dtype::kFloat32);
  const View data =
      builder.place(MemoryKind::kSbuf, "data", {128, 128}, Dtype::kFloat32, 4096, 0, 2);
  builder.loop(3, [&](const Affine& i) {  // placed by hand: every other tile is the same
    builder.emit(DmaCopy{.dst = data.turn(i), .src = in.slice(1, i * 128, 128)});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = data.turn(i)});
  });
  EXPECT_EQ(widths(merged(builder.finish()), "dma_copy", 1), Widths(6, 128));
}

}  // namespace
}  // namespace neuron_sim
