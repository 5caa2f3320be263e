// Programs of random transfers between tiles and tensors in HBM: what forward_stores, what
// eliminate_copies after it and what all passes of a graph make of them leaves the same bytes.

#include <array>

#include "device/base/errors.h"
#include "device/compiler/passes.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/graph/graph_program.h"
#include "tests/device/compiler/transfers.h"

namespace neuron_sim {
namespace {

constexpr int64_t kPartitions = 8;
constexpr int64_t kWidth = 12;                    ///< of a row in HBM, mostly
constexpr int64_t kBlock = kPartitions * kWidth;  ///< elements of such rows
constexpr int64_t kBlocks = 3;                    ///< of a tensor; loops go through them

/// Which of a row's elements are transferred.
struct Columns {
  int64_t first, count;
};

class RandomTransfers {
 public:
  RandomTransfers(uint32_t seed, const Architecture& architecture)
      : random_(seed), builder_("random", architecture) {}

  std::shared_ptr<const Program> build() {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat32, Dtype::kBfloat16}) {
      tensors_.push_back(builder_.scratch("between", {kBlocks * kBlock}, dtype));
    }
    tensors_.push_back(builder_.argument("between", {kBlocks * kBlock}, Dtype::kFloat32));
    for (int i = 0; i < 4; ++i) make_tile({kPartitions, 12 + 2 * i}, Dtype::kFloat32);
    make_tile({kPartitions, 3, 5}, Dtype::kFloat32);
    make_tile({kPartitions, 13}, Dtype::kBfloat16);
    block(12, 0);
    builder_.loop(2 + draw(kBlocks - 1), [&](const Affine& i) { block(8, i); });
    block(8, 0);
    for (const View& tile : tiles_) {
      builder_.emit(
          DmaCopy{.dst = builder_.argument("out", tile.shape(), tile.dtype()), .src = tile});
    }
    return builder_.finish();
  }

 private:
  /// A number of [0, bound).
  int64_t draw(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random_);
  }
  int64_t pick(std::initializer_list<int64_t> choices) {
    return *(choices.begin() + draw(std::ssize(choices)));
  }

  void make_tile(const std::vector<int64_t>& shape, Dtype dtype) {
    tiles_.push_back(builder_.sbuf("tile", shape, dtype));
    fill(tiles_.back());
  }
  void fill(const View& tile) {
    builder_.emit(DmaCopy{.dst = tile, .src = builder_.argument("in", tile.shape(), tile.dtype())});
  }

  /// `rows` partitions of a tile with `count` elements each, in one of the layouts it allows.
  View piece(int64_t rows, int64_t count) {
    View tile = tiles_[static_cast<size_t>(draw(std::ssize(tiles_)))];
    if (tile.rank() == 3) {
      for (const int64_t columns : {int64_t{5}, int64_t{4}, int64_t{2}, int64_t{1}}) {
        if (count % columns != 0 || count / columns > 3 || draw(2) == 0) continue;
        tile = tile.slice(1, draw(4 - count / columns), count / columns);
        return tile.slice(2, draw(6 - columns), columns).slice(0, 0, rows);
      }
      tile = tile.flatten();
    }
    if (count > tile.size(1)) tile = tiles_[1];
    const int64_t width = tile.size(1);
    const int64_t step = 2 * count - 1 <= width && draw(4) == 0 ? 2 : 1;
    const int64_t last = width - (count - 1) * step;
    tile = tile.slice(1, draw(3) == 0 ? draw(last) : 0, count, step);
    const bool is_low = draw(3) == 0 && 2 * rows <= kPartitions;
    return tile.slice(0, is_low ? kPartitions / 2 : 0, rows);
  }

  /// `rows` rows of a tensor in HBM: of any block, or of the one whose number is `trip`.
  View rows_of(int64_t rows, const Columns& columns, const Affine& trip) {
    const View& tensor = tensors_[static_cast<size_t>(draw(std::ssize(tensors_)))];
    const Affine block = draw(2) == 0 ? trip : Affine(draw(8) == 0 ? draw(kBlocks) : 0);
    const bool is_odd = draw(10) == 0;  // longer rows, from another one on
    const int64_t stride = is_odd && rows < kPartitions ? 2 * kWidth : kWidth;
    const int64_t shift = is_odd && rows < kPartitions / 2 ? 2 * kWidth - 3 : 0;
    return tensor.pattern({{rows, stride}, {columns.count, 1}},
                          block * kBlock + columns.first + shift);
  }

  void copy(const View& to, const View& from) { builder_.emit(DmaCopy{.dst = to, .src = from}); }

  void statement(const Affine& trip) {
    static constexpr std::array<Columns, 10> kColumns{
        {{0, 12}, {0, 12}, {0, 6}, {6, 6}, {0, 4}, {4, 4}, {8, 4}, {4, 8}, {3, 5}, {11, 1}}};
    const Columns columns = kColumns[static_cast<size_t>(draw(std::ssize(kColumns)))];
    const int64_t rows = pick({8, 8, 8, 8, 8, 8, 4, 1}), count = columns.count;
    switch (draw(20)) {
      case 0: return builder_.emit(Memset{piece(kPartitions, count), 2.0});
      case 1: return fill(tiles_[static_cast<size_t>(draw(std::ssize(tiles_)))]);
      case 2: return copy(rows_of(rows, columns, trip), rows_of(rows, columns, trip));
      case 3:
        return builder_.emit(DmaCopy{.dst = rows_of(rows, columns, trip),
                                     .src = piece(rows, count),
                                     .dst_rmw_add = draw(3) == 0});
      case 4: {
        const View values = tiles_[static_cast<size_t>(draw(std::ssize(tiles_)))];
        return builder_.emit(
            TensorScalar{.dst = values, .data = values, .op0 = AluOp::kMultiply, .constant0 = 0.5});
      }
      default: break;
    }
    if (draw(5) < 2) {
      recent_.push_back(rows_of(rows, columns, trip));
      copy(recent_.back(), piece(rows, count));
    } else if (recent_.empty() || draw(4) == 0) {
      copy(piece(rows, count), rows_of(rows, columns, trip));
    } else {
      load_recent();
    }
  }

  /// Loads what was stored not long ago, or a part of it.
  void load_recent() {
    View hbm = recent_[recent_.size() - 1 -
                       static_cast<size_t>(draw(std::min<int64_t>(std::ssize(recent_), 3)))];
    if (draw(4) == 0) hbm = hbm.slice(0, 0, (hbm.partitions() + 1) / 2);
    if (draw(2) == 0) {
      const int64_t count = 1 + draw(hbm.size(1));
      hbm = hbm.slice(1, draw(hbm.size(1) - count + 1), count);
    }
    copy(piece(hbm.partitions(), hbm.size(1)), hbm);
  }

  void block(int64_t most, const Affine& trip) {
    const int64_t statements = 2 + draw(most);
    for (int64_t i = 0; i < statements; ++i) statement(trip);
    recent_.clear();  // they may name the loop's variable
  }

  std::mt19937 random_;
  Builder builder_;
  std::vector<View> tiles_, tensors_, recent_;
};

TEST(RandomTransfers, KeepTheirBytes) {
  TransfersLeft before, after;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const Architecture& architecture = load_architecture(seed % 2 == 0 ? "trn1" : "trn2");
    const std::shared_ptr<const Program> program = RandomTransfers(seed, architecture).build();
    const auto expected = bytes_after(program);
    SCOPED_TRACE(text("seed ", seed, "\n", listing(*program)));
    StraightLine line = renamed_line(*program);
    const TransfersLeft all = transfers_of(line);
    run_pass(line, "forward_stores");
    const TransfersLeft left = transfers_of(line);
    ASSERT_EQ(bytes_after(placed(line)), expected) << "forward_stores";
    run_pass(line, "eliminate_copies");
    ASSERT_EQ(bytes_after(placed(line)), expected) << "and eliminate_copies";
    const Compiled compiled = compile(program, graph_passes());
    EXPECT_EQ(compiled.unchanged, "");
    EXPECT_TRUE(compiled.skipped_passes.empty());
    ASSERT_EQ(bytes_after(compiled.program), expected) << "all passes of a graph";
    before.loads += all.loads, before.stores += all.stores;
    after.loads += left.loads, after.stores += left.stores;
  }
  EXPECT_LT(after.loads, before.loads * 9 / 10) << "of " << before.loads;
  EXPECT_LT(after.stores, before.stores * 29 / 30) << "of " << before.stores;
}

TEST(GraphPasses, AreNoneThatMayChangeBytes) {
  EXPECT_EQ(keeping_bytes(graph_passes()), graph_passes());
}

}  // namespace
}  // namespace neuron_sim
