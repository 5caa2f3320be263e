// Programs that run while they are built.

#include "device/execute/eager_run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

std::vector<float> floats(EagerRun& run, const View& view) {
  const std::vector<std::byte> bytes = run.contents(view.tile());
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(EagerRun, TilesHaveTheirValuesAfterEachInstruction) {
  Builder builder("kernel", load_architecture("trn2"), TilePlacement::kAutomatic);
  EagerRun run(builder.program());
  builder.observe([&] { run.advance(); });
  const View tile = builder.sbuf("tile", {2, 3}, kFloat);
  builder.emit(Memset{tile, 1});
  EXPECT_EQ(floats(run, tile), std::vector<float>(6, 1));
  const View sum = builder.psum("sum", {2, 3});
  builder.emit(TensorTensor{sum, tile, tile, AluOp::kAdd});
  EXPECT_EQ(floats(run, sum), std::vector<float>(6, 2));
  builder.emit(Memset{tile, 5});
  EXPECT_EQ(floats(run, tile), std::vector<float>(6, 5));
  EXPECT_EQ(floats(run, sum), std::vector<float>(6, 2));
}

TEST(EagerRun, MoreTilesThanTheChipHoldsKeepTheirValues) {
  const Architecture& architecture = load_architecture("trn2");
  const int64_t width = architecture.limits.sbuf_usable.count / 8;  // half of SBUF
  Builder builder("kernel", architecture, TilePlacement::kAutomatic);
  EagerRun run(builder.program());
  builder.observe([&] { run.advance(); });
  std::vector<View> tiles;
  for (int i = 0; i < 9; ++i) {
    tiles.push_back(builder.sbuf("tile", {1, width}, kFloat));
    builder.emit(Memset{tiles.back(), static_cast<double>(i)});
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_EQ(floats(run, tiles[i]),
              std::vector<float>(static_cast<size_t>(width), static_cast<float>(i)));
  }
}

TEST(EagerRun, ArgumentsAreThoseOfTheCallerOrZero) {
  Builder builder("kernel", load_architecture("trn2"), TilePlacement::kAutomatic);
  EagerRun run(builder.program());
  builder.observe([&] { run.advance(); });
  std::vector<float> given{1, 2, 3};
  run.bind(0, reinterpret_cast<std::byte*>(given.data()));
  const View in = builder.argument("in", {1, 3}, kFloat);
  const View out = builder.argument("out", {1, 3}, kFloat);
  const View tile = builder.sbuf("tile", {1, 3}, kFloat);
  EXPECT_EQ(floats(run, out), std::vector<float>(3, 0));
  builder.emit(DmaCopy{tile, in});
  builder.emit(DmaCopy{out.slice(1, 0, 2), tile.slice(1, 1, 2)});
  EXPECT_EQ(floats(run, out), (std::vector<float>{2, 3, 0}));
  builder.emit(DmaCopy{in, out});
  EXPECT_EQ(given, (std::vector<float>{2, 3, 0}));
}

TEST(EagerRun, LoopsOnChipAndRegistersAreRefused) {
  Builder builder("kernel", load_architecture("trn2"), TilePlacement::kAutomatic);
  EagerRun run(builder.program());
  builder.observe([&] { run.advance(); });
  const View tile = builder.sbuf("tile", {1, 8}, kFloat);
  const Affine i = builder.open_loop(4);
  try {
    builder.emit(Memset{tile.slice(1, i, 1), 1});
    FAIL() << "an instruction in a loop ran";
  } catch (const KernelError& error) {
    EXPECT_STREQ(error.what(),
                 "'memset' of kernel 'kernel' is in or after a loop on chip, which eager execution "
                 "does not support; run the kernel without it.");
  }
}

}  // namespace
}  // namespace neuron_sim
