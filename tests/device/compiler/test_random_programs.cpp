// Every published stack keeps the bytes of kernels that nobody wrote: random statements on random
// tiles in random loops.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRows = 4;  ///< of the arguments' first dimension
constexpr int64_t kPartitions = 16;

/// Emits random statements; every tile is written where it is made, so that all bytes are defined.
class RandomKernel {
 public:
  RandomKernel(uint32_t seed, const Architecture& architecture)
      : random_(seed), builder_("random", architecture) {
    width_ = pick({1, 3, 16});
    in_ = builder_.argument("in", {kRows, kPartitions, width_}, Dtype::kFloat32);
    std::vector<std::byte> rows(2 * kPartitions * sizeof(int32_t));
    for (int32_t i = 0; i < 2 * kPartitions; ++i) {  // two permutations
      const auto row = static_cast<int32_t>((i * (i < kPartitions ? 3 : 5) + 1) % kPartitions);
      std::memcpy(rows.data() + static_cast<size_t>(i) * sizeof(row), &row, sizeof(row));
    }
    rows_ = builder_.constant("rows", {2, kPartitions, 1}, Dtype::kInt32, std::move(rows));
    out_ = builder_.argument("out", {kRows, kPartitions, width_}, Dtype::kFloat32);
  }

  std::shared_ptr<const Program> build() {
    for (int i = 0; i < 3; ++i) make_tile(0);
    block(2);
    for (const View& tile : tiles_) store(0, tile);
    return builder_.finish();
  }

 private:
  int64_t pick(std::initializer_list<int64_t> choices) {
    return *(choices.begin() + draw(std::ssize(choices)));
  }
  int64_t draw(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random_);
  }
  const View& tile() { return tiles_[static_cast<size_t>(draw(std::ssize(tiles_)))]; }

  void make_tile(const Affine& row) {
    const Dtype dtype = draw(3) == 0 ? Dtype::kBfloat16 : Dtype::kFloat32;
    const View made = builder_.sbuf("tile", {kPartitions, width_}, dtype);
    if (draw(2) == 0) {
      builder_.emit(Memset{made, static_cast<double>(draw(3))});
    } else {
      load(row, made);
    }
    tiles_.push_back(made);
  }
  void load(const Affine& row, const View& to) {
    builder_.emit(DmaCopy{.dst = to, .src = in_.select(0, row)});
  }
  void store(const Affine& row, const View& from) {
    builder_.emit(DmaCopy{.dst = out_.select(0, row), .src = from});
  }

  /// Rows of `in` where an index tile says, or a tile to such rows of `out`.
  void indirect() {
    const View index = builder_.sbuf("index", {kPartitions, 1}, Dtype::kInt32);
    builder_.emit(DmaCopy{.dst = index, .src = rows_.select(0, draw(2))});
    const View rows = builder_.sbuf("rows", {kPartitions, width_}, Dtype::kFloat32);
    if (draw(2) == 0) {
      const View table = in_.select(0, draw(kRows)).indirect(kPartitions);
      builder_.emit(DmaCopy{.dst = rows, .src = table, .index = index});
      builder_.emit(TensorCopy{tile(), rows});
    } else {
      builder_.emit(TensorCopy{rows, tile()});
      const View table = out_.select(0, draw(kRows)).indirect(kPartitions);
      builder_.emit(DmaCopy{.dst = table, .src = rows, .index = index});
    }
  }

  void product() {
    const View sum = builder_.psum("sum", {width_, width_});
    const bool zeros = draw(2) == 0;
    if (zeros) builder_.emit(Memset{sum, 0.0});
    const int64_t depth = 1 + draw(3);
    for (int64_t k = 0; k < depth; ++k) {
      const View stationary = tile();
      View moving = tile();
      if (moving.dtype() != stationary.dtype()) moving = stationary;
      const bool first = !zeros && k == 0;
      builder_.emit(
          NcMatmul{sum, stationary, moving, first ? std::optional(false) : std::optional(true)});
    }
    const View copy = builder_.sbuf("copy", {width_, width_}, Dtype::kFloat32);
    builder_.emit(TensorCopy{copy, sum});
    const View target = tile().slice(0, 0, width_);
    builder_.emit(TensorTensor{target, target, copy, AluOp::kMaximum});
  }

  /// A window of a tile, copied in one or several pieces, and something that reads it.
  void window() {
    const View source = tile();
    const int64_t pieces = pick({1, 2}), piece = std::max<int64_t>(1, width_ / 4);
    const View window = builder_.sbuf("window", {kPartitions, pieces * piece}, source.dtype());
    const int64_t first = draw(width_ - piece + 1);
    for (int64_t i = 0; i < pieces; ++i) {
      const int64_t from = draw(2) == 0 ? first : draw(width_ - piece + 1);
      const View to = window.slice(1, i * piece, piece);
      builder_.emit(TensorCopy{to, source.slice(1, from, piece)});
    }
    if (draw(3) == 0) builder_.emit(Memset{source.slice(1, first, 1), 1.0});
    const View target = tile();
    const int64_t columns = std::min(width_, pieces * piece);
    builder_.emit(TensorScalar{.dst = target.slice(1, 0, columns),
                               .data = window.slice(1, 0, columns),
                               .op0 = AluOp::kAdd,
                               .constant0 = 1});
    const View sum = builder_.psum("sum", {pieces * piece, pieces * piece});
    builder_.emit(NcMatmul{sum, window, window, false});
    const View column = builder_.sbuf("column", {pieces * piece, 1}, Dtype::kFloat32);
    builder_.emit(TensorReduce{.dst = column, .data = sum, .op = AluOp::kMaximum});
    builder_.emit(DmaCopy{.dst = out_.select(0, 0).slice(0, 0, pieces * piece).slice(1, 0, 1),
                          .src = column});
  }

  void statement(const Affine& row) {
    switch (draw(11)) {
      case 10: return window();
      case 9: return indirect();
      case 0: return make_tile(row);
      case 1: return load(row, tile());
      case 2: return store(row, tile());
      case 3: return builder_.emit(Memset{tile(), 1.0});
      case 4: return builder_.emit(TensorCopy{tile(), tile()});
      case 5: {
        const AluOp op = draw(2) == 0 ? AluOp::kAdd : AluOp::kMinimum;
        return builder_.emit(TensorTensor{tile(), tile(), tile(), op});
      }
      case 6: {
        const View column = builder_.sbuf("column", {kPartitions, 1}, Dtype::kFloat32);
        builder_.emit(TensorReduce{.dst = column, .data = tile(), .op = AluOp::kMaximum});
        return builder_.emit(TensorScalar{
            .dst = tile(), .data = tile(), .operand0 = column, .op0 = AluOp::kSubtract});
      }
      case 7:
        return builder_.emit(Activate{.dst = tile(), .data = tile(), .op = Activation::kTanh});
      default: return product();
    }
  }

  /// Statements and, while `depth` allows, loops whose variable names rows of the arguments.
  void block(int depth, const Affine& row = 0) {
    const int64_t statements = 2 + draw(4);
    for (int64_t i = 0; i < statements; ++i) {
      if (depth == 0 || draw(3) != 0) {
        statement(row);
        continue;
      }
      const size_t outside = tiles_.size();
      builder_.loop(2 + draw(kRows - 1),
                    [&](const Affine& variable) { block(depth - 1, variable); });
      tiles_.resize(outside);
    }
  }

  std::mt19937 random_;
  Builder builder_;
  int64_t width_ = 1;
  View in_, out_, rows_;
  std::vector<View> tiles_;
};

TEST(RandomPrograms, EveryPublishedStackKeepsTheirBytes) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Architecture& architecture = load_architecture(seed % 2 == 0 ? "trn1" : "trn2");
    const std::shared_ptr<const Program> program = RandomKernel(seed, architecture).build();
    const auto expected = bytes_after(program);
    for (const PublishedStack& stack : published_stacks()) {
      const Compiled compiled = compile(program, keeping_bytes(stack.settings));
      EXPECT_EQ(compiled.unchanged.empty(), stack.settings != PassSettings{});
      ASSERT_EQ(bytes_after(compiled.program), expected)
          << "seed " << seed << ", " << stack.name << "\n"
          << listing(*program);
    }
  }
}

}  // namespace
}  // namespace neuron_sim
