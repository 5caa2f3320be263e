#include "device/builder/accumulation.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

constexpr Dtype kBf16 = Dtype::kBfloat16;

/// Emits products with accumulate=None and reads back what the Builder made of them.
class AccumulationTest : public ::testing::Test {
 protected:
  View sum(const std::vector<int64_t>& shape = {16, 64}, int ring = 1) {
    return builder.psum("sum", shape, Dtype::kFloat32, ring);
  }
  void product(const View& dst, std::optional<bool> accumulate = std::nullopt) {
    builder.emit(NcMatmul{.dst = dst,
                          .stationary = weights.slice(1, 0, dst.partitions()),
                          .moving = weights.slice(1, 0, dst.free_elements()),
                          .accumulate = accumulate});
  }
  std::string error(const View& dst) {
    try {
      product(dst);
    } catch (const KernelError& error) {
      return error.what();
    }
    return "";
  }
  /// Per product: whether it adds.
  std::vector<bool> adds() {
    const auto program = builder.finish();
    std::vector<bool> result;
    for (const Instruction& instruction : program->instructions) {
      const auto mode = program->attributes_of(instruction)[0].as<Accumulate>();
      EXPECT_NE(mode, Accumulate::kAuto);
      const Direction direction = program->operands_of(instruction)[0].direction;
      EXPECT_EQ(direction == Direction::kReadWrite, mode == Accumulate::kAdd);
      result.push_back(mode == Accumulate::kAdd);
    }
    return result;
  }

  Builder builder{"accumulation", load_architecture("trn2")};
  View weights = builder.sbuf("weights", {32, 256}, kBf16);
};

using Adds = std::vector<bool>;

TEST_F(AccumulationTest, FirstWriteOverwritesAndLaterOnesAdd) {
  const View a = sum(), b = sum();
  for (const View& dst : {a, b, a, a, b}) product(dst);
  EXPECT_EQ(adds(), (Adds{false, false, true, true, true}));
}

TEST_F(AccumulationTest, LocationsOfOneTileAreSeparate) {
  const View tile = sum();
  product(tile.slice(1, 0, 32));
  product(tile.slice(1, 32, 32));
  product(tile.slice(1, 8, 8));
  product(tile.slice(1, 32, 32));
  EXPECT_EQ(adds(), (Adds{false, false, true, true}));
}

TEST_F(AccumulationTest, ExplicitFlagsStandAndCountAsWrites) {
  const View tile = sum();
  product(tile, false);
  product(tile);
  product(tile, false);
  product(tile, true);
  EXPECT_EQ(adds(), (Adds{false, true, false, true}));
}

TEST_F(AccumulationTest, TilesOfALoopAreNewInEachIteration) {
  builder.loop(4, [&](const Affine&) {
    const View tile = sum();
    product(tile);
    product(tile);
    builder.loop(3, [&](const Affine&) { product(tile); });
  });
  EXPECT_EQ(adds(), (Adds{false, true, true}));
}

TEST_F(AccumulationTest, AddressesThatMoveWithTheLoopAreNewInEachIteration) {
  const View tile = sum({16, 4, 64}), ring = sum({16, 64}, 2);
  builder.loop(4, [&](const Affine& i) {
    for (int k = 0; k < 2; ++k) {
      product(tile.select(1, i));
      product(ring.turn(i));
      product(ring.turn(i + 1));
      product(ring.turn(i + 2));
    }
  });
  EXPECT_EQ(adds(), (Adds{false, false, false, true, true, true, true, true}));
}

TEST_F(AccumulationTest, WhatWasWrittenBeforeALoopIsAddedToInEachIteration) {
  const View tile = sum();
  product(tile);
  builder.loop(4, [&](const Affine&) { product(tile); });
  EXPECT_EQ(adds(), (Adds{false, true}));
}

TEST_F(AccumulationTest, ReportsWhatNoFlagCanExpress) {
  const std::string end = "; set accumulate to True or False.";
  const View tile = sum(), halves = sum(), wide = sum({16, 4, 64});
  builder.loop(4, [&](const Affine& i) {
    EXPECT_EQ(
        error(tile),
        "'nc_matmul' with accumulate=None to sum[16, 64]: the first iteration of a loop would "
        "overwrite and the others would add" +
            end);
    product(wide.select(1, i));
  });
  EXPECT_EQ(error(wide.select(1, 0)),
            "'nc_matmul' with accumulate=None to sum[16, 64]: an earlier product moves through the "
            "tile in another way" +
                end);
  product(halves.slice(1, 0, 32));
  EXPECT_EQ(error(halves),
            "'nc_matmul' with accumulate=None to sum[16, 64]: a part of it was written before and "
            "a part was not" +
                end);
  EXPECT_EQ(error(halves.slice(1, 32, 32)), "");
}

TEST_F(AccumulationTest, FailedProductsDoNotCount) {
  const View tile = sum();
  EXPECT_NE(error(tile.slice(0, 0, 16).slice(1, 0, 64).split(1, 8, 8).slice(1, 0, 0)), "");
  product(tile);
  EXPECT_EQ(adds(), Adds{false});
}

}  // namespace
}  // namespace neuron_sim
