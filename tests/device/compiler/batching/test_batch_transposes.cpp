#include "device/compiler/batching/batch_transposes.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

using Widths = std::vector<int64_t>;

enum class Producer { kTranspose, kTransposingProduct, kProduct };

/// Blocks of `width` columns of a [128, blocks * width] tensor, each transposed (or multiplied with
/// an identity) into a tile of PSUM and copied to its place.
struct Blocks {
  int64_t blocks = 4, width = 128;
  Dtype dtype = Dtype::kFloat32;
  Producer producer = Producer::kTranspose;
  bool read_twice = false;

  std::shared_ptr<const Program> program() const {
    Builder builder("blocks", load_architecture("trn2"));
    const View in = builder.argument("in", {128, blocks * width}, dtype);
    const View out = builder.argument("out", {width, blocks * 128}, Dtype::kFloat32);
    const View data = builder.sbuf("data", {128, blocks * width}, dtype);
    const View eye = builder.sbuf("eye", {128, 128}, dtype);
    const View result = builder.sbuf("result", {width, blocks, 128}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = data, .src = in});
    builder.emit(DmaCopy{.dst = eye, .src = identity(builder)});
    const bool product = producer == Producer::kProduct;
    builder.loop(blocks, [&](const Affine& i) {
      const View turned = builder.psum("turned", {width, 128}, product ? Dtype::kFloat32 : dtype);
      const View block = data.slice(1, i * width, width);
      if (producer == Producer::kTranspose) {
        builder.emit(NcTranspose{.dst = turned, .data = block});
      } else {
        builder.emit(
            NcMatmul{.dst = turned, .stationary = block, .moving = eye, .is_transpose = !product});
      }
      builder.emit(TensorCopy{result.select(1, i), turned});
      if (read_twice) builder.emit(TensorCopy{result.select(1, i), turned});
    });
    builder.emit(DmaCopy{.dst = out, .src = result.flatten()});
    return builder.finish();
  }

 private:
  View identity(Builder& builder) const {
    std::vector<float> values(128 * 128);
    for (size_t i = 0; i < 128; ++i) values[i * 129] = 1;
    std::vector<std::byte> bytes(values.size() * static_cast<size_t>(itemsize(dtype)));
    store_floats(values.data(), bytes.data(), dtype, itemsize(dtype),
                 static_cast<int64_t>(values.size()));
    return builder.constant("eye", {128, 128}, dtype, bytes);
  }
};

StraightLine batched(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "batch_transposes");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return line;
}

TEST(BatchTransposes, FourOf128ColumnsShareABankAndACopy) {
  for (const Producer producer : {Producer::kTranspose, Producer::kTransposingProduct}) {
    const StraightLine line = batched(Blocks{.producer = producer}.program());
    EXPECT_EQ(widths(line, "tensor_copy"), Widths{512});
    const std::string_view name = names(line)[2];
    EXPECT_EQ(names(line), (std::vector<std::string_view>{"dma_copy", "dma_copy", name, name, name,
                                                          name, "tensor_copy", "dma_copy"}));
    const Tile& bank = line.tile_of(line.operands_of(line.instructions[6])[1]);
    EXPECT_EQ(bank.memory, MemoryKind::kPsum);
    EXPECT_EQ(bank.bytes, 2048);
  }
}

TEST(BatchTransposes, ARemainderIsACopyOfItsOwn) {
  EXPECT_EQ(widths(batched(Blocks{.blocks = 6}.program()), "tensor_copy"), (Widths{512, 256}));
  EXPECT_EQ(widths(batched(Blocks{.blocks = 5}.program()), "tensor_copy"), (Widths{512, 128}));
  EXPECT_EQ(widths(batched(Blocks{.blocks = 1}.program()), "tensor_copy"), Widths{128});
}

TEST(BatchTransposes, SixteenBitElementsAreBoundedByElementsNotBytes) {
  const StraightLine line = batched(Blocks{.blocks = 8, .dtype = Dtype::kBfloat16}.program());
  EXPECT_EQ(widths(line, "tensor_copy"), (Widths{512, 512}));
  EXPECT_EQ(line.tile_of(line.operands_of(line.instructions[6])[1]).bytes, 1024);
}

TEST(BatchTransposes, FewerPartitionsKeepTheirBytes) {
  EXPECT_EQ(widths(batched(Blocks{.blocks = 3, .width = 37}.program()), "tensor_copy"),
            Widths{384});
}

TEST(BatchTransposes, ProductsKeepABankEach) {
  EXPECT_EQ(widths(batched(Blocks{.producer = Producer::kProduct}.program()), "tensor_copy"),
            (Widths{128, 128, 128, 128}));
}

TEST(BatchTransposes, ATileThatIsReadTwiceStays) {
  EXPECT_EQ(widths(batched(Blocks{.read_twice = true}.program()), "tensor_copy"), Widths(8, 128));
}

}  // namespace
}  // namespace neuron_sim
