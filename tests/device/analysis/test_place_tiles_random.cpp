#include <gtest/gtest.h>

#include <random>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

/// trn2 with that much SBUF (bytes per partition) and PSUM (banks).
Architecture with_memory(int64_t sbuf, int64_t banks) {
  Architecture architecture = load_architecture("trn2");
  architecture.limits.sbuf_usable = Bytes{sbuf};
  architecture.limits.psum_banks = banks;
  return architecture;
}

/// Nested loops with tiles of random sizes in every block. The same seed gives the same program,
/// with automatic placement or with every tile at an address of its own.
class RandomTiles {
 public:
  static constexpr int64_t kPartitions = 3, kWidth = 96, kRows = 64;

  RandomTiles(uint64_t seed, const Architecture& architecture, TilePlacement placement)
      : random_(seed),
        apart_(placement == TilePlacement::kScoped),
        builder_("random", architecture, placement) {}

  std::shared_ptr<const Program> build(Overflow overflow = Overflow::kRefused) {
    input_ = builder_.argument("input", {kRows, kPartitions, kWidth}, kFloat);
    output_ = builder_.argument("output", {kRows, kPartitions, kWidth}, kFloat);
    block(3);
    return builder_.finish(overflow);
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  const View& any() { return tiles_[static_cast<size_t>(pick(0, std::ssize(tiles_) - 1))]; }

  View allocate() {
    const bool psum = pick(0, 3) == 0;
    const std::vector<int64_t> shape{kPartitions, pick(1, kWidth)};
    const int ring = static_cast<int>(pick(1, 2));
    if (!apart_)
      return psum ? builder_.psum("sum", shape, kFloat, ring)
                  : builder_.sbuf("tile", shape, kFloat, ring);
    int64_t& next = psum ? next_bank_ : next_byte_;
    const int64_t address = next;
    next += ring * (psum ? 2048 : shape[1] * 4);
    return builder_.place(psum ? MemoryKind::kPsum : MemoryKind::kSbuf, psum ? "sum" : "tile",
                          shape, kFloat, address, 0, ring);
  }

  Affine row() {
    Affine result = pick(0, 15);
    for (const Affine& variable : variables_) result += variable * pick(0, 4);
    return result;
  }
  View row_of(const View& tensor, int64_t width) {
    return tensor.select(0, row()).slice(1, 0, width);
  }
  View first(const View& tile, int64_t width) {
    Affine turn = pick(0, 1);
    for (const Affine& variable : variables_) turn += variable * pick(0, 1);
    return tile.turn(turn).slice(1, 0, width);
  }

  void begin_tiles() {
    for (int64_t i = pick(1, 3); i > 0; --i) {
      const View tile = allocate();
      for (int turn = 0; turn < tile.ring(); ++turn) {
        builder_.emit(Memset{tile.turn(turn), static_cast<double>(pick(-3, 3))});
      }
      tiles_.push_back(tile);
    }
  }

  void statement() {
    const View dst = any(), left = any(), right = any();
    const int64_t width = std::min({dst.size(1), left.size(1), right.size(1)});
    const auto in_sbuf = [](const View& view) { return view.memory() == MemoryKind::kSbuf; };
    const int64_t kind = pick(0, 3);
    if (kind == 0 && in_sbuf(dst)) {
      builder_.emit(DmaCopy{first(dst, width), row_of(input_, width)});
    } else if (kind == 1 && in_sbuf(left)) {
      builder_.emit(DmaCopy{row_of(output_, width), first(left, width)});
    } else if (kind == 2 && (in_sbuf(left) || in_sbuf(right))) {
      builder_.emit(TensorTensor{first(dst, width), first(left, width), first(right, width),
                                 AluOp::kAdd, EngineKind::kVector});
    } else {
      builder_.emit(TensorCopy{first(dst, width), first(left, width)});
    }
  }

  void block(int depth) {
    const auto outer = std::ssize(tiles_);
    begin_tiles();
    for (int64_t i = pick(2, 6); i > 0; --i) {
      if (depth == 0 || pick(0, 2) > 0) {
        statement();
        continue;
      }
      variables_.push_back(builder_.open_loop(pick(1, 3)));
      block(depth - 1);
      variables_.pop_back();
      builder_.close_loop();
    }
    tiles_.resize(static_cast<size_t>(outer));
  }

  std::mt19937_64 random_;
  bool apart_;
  Builder builder_;
  View input_, output_;
  std::vector<View> tiles_;
  std::vector<Affine> variables_;
  int64_t next_byte_ = 0, next_bank_ = 0;
};

/// Pairs of tiles of different allocations that share bytes.
int shared_pairs(const Program& program) {
  int pairs = 0;
  for (const Tile& a : program.tiles) {
    for (const Tile& b : program.tiles) {
      const bool on_chip = a.memory == MemoryKind::kSbuf || a.memory == MemoryKind::kPsum;
      if (&a < &b && on_chip && a.memory == b.memory && a.address < b.address + b.bytes &&
          b.address < a.address + a.bytes) {
        ++pairs;
      }
    }
  }
  return pairs;
}

TEST(PlaceTiles, SharedBytesComputeWhatDistinctBytesDo) {
  const Architecture ample = with_memory(180'224, 400);
  int shared = 0, refused = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const Architecture small = with_memory(64 * (20 + static_cast<int64_t>(seed % 50)),
                                           4 + static_cast<int64_t>(seed % 7));
    std::shared_ptr<const Program> program;
    try {
      program = RandomTiles(seed, small, TilePlacement::kAutomatic).build();
    } catch (const KernelError& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
      ++refused;
      continue;
    }
    shared += shared_pairs(*program);
    EXPECT_LE(program->sbuf_peak, small.limits.sbuf_usable.count);
    const auto expected = bytes_after(RandomTiles(seed, ample, TilePlacement::kScoped).build());
    EXPECT_EQ(bytes_after(program), expected) << "seed " << seed;
    const PassSettings settings{{"rename_buffers", 1}, {"schedule", 1}, {"reuse_loads", 1}};
    EXPECT_EQ(bytes_after(compile(program, settings).program), expected) << "seed " << seed;
  }
  EXPECT_GT(shared, 500);
  EXPECT_LT(refused, 60);
}

TEST(PlaceTiles, WhatIsRefusedWithoutSpillsComputesTheSameWithThem) {
  const Architecture ample = with_memory(180'224, 400);
  const PassSettings settings[] = {{{"schedule", 1}},
                                   keeping_bytes(published_stack("neuronx-cc trn2").settings)};
  int spilled = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const Architecture small = with_memory(64 * (18 + static_cast<int64_t>(seed % 12)),
                                           3 + static_cast<int64_t>(seed % 4));
    const auto program =
        RandomTiles(seed, small, TilePlacement::kAutomatic).build(Overflow::kSpilled);
    if (program->overflow.empty()) continue;
    const auto expected = bytes_after(RandomTiles(seed, ample, TilePlacement::kScoped).build());
    EXPECT_EQ(bytes_after(program), expected) << "seed " << seed;
    for (const PassSettings& each : settings) {
      const auto compiled = compile(program, each).program;
      EXPECT_EQ(bytes_after(compiled), expected) << "seed " << seed;
      EXPECT_TRUE(compiled->overflow.empty());
      EXPECT_LE(compiled->sbuf_peak, small.limits.sbuf_usable.count) << "seed " << seed;
      EXPECT_LE(compiled->psum_peak, small.limits.psum_banks * 2048) << "seed " << seed;
      spilled += compiled->spills.any() ? 1 : 0;
    }
  }
  EXPECT_GT(spilled, 50);
}

}  // namespace
}  // namespace neuron_sim
