#include "device/compiler/middle_end/reuse_transposes.h"

#include "device/builder/builder.h"
#include "device/compiler/line/kept_tiles.h"
#include "device/compiler/passes.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// out[i] = sum over k of a[k] b[i, k]: a[k] is transposed for each product, as nl.matmul does.
struct Product {
  int64_t blocks = 3, tiles = 2;
  int64_t columns = 64;       ///< of the copies, of which products read 64
  bool changes_a = false;     ///< a is written again in each block
  bool read_in_psum = false;  ///< a second reader of the transposed tile
  bool once = false;          ///< transposed before the loop over blocks, by the kernel itself

  std::shared_ptr<const Program> program() const {
    Builder builder("product", load_architecture("trn2"));
    const Dtype dtype = Dtype::kFloat32;
    const View a = builder.argument("a", {tiles, 64, 64}, dtype);
    const View b = builder.argument("b", {blocks, tiles, 64, 32}, dtype);
    const View out = builder.argument("out", {blocks, 64, 32}, dtype);
    const View kept = builder.sbuf("kept", {64, tiles, 64}, dtype);
    builder.loop(tiles, [&](const Affine& k) {
      builder.emit(DmaCopy{.dst = kept.select(1, k), .src = a.select(0, k)});
    });
    View early;
    if (once) {
      early = builder.sbuf("early", {64, tiles, columns}, dtype);
      builder.loop(tiles, [&](const Affine& k) { turn(builder, kept, early.select(1, k), k); });
    }
    builder.loop(blocks, [&](const Affine& i) {
      const View sum = builder.psum("sum", {64, 32});
      builder.emit(Memset{sum, 0});
      builder.loop(tiles, [&](const Affine& k) {
        const View right = builder.sbuf("right", {64, 32}, dtype);
        builder.emit(DmaCopy{.dst = right, .src = b.select(0, i).select(0, k)});
        const View turned =
            once ? early.select(1, k) : builder.sbuf("turned", {64, columns}, dtype);
        if (!once) turn(builder, kept, turned, k);
        builder.emit(NcMatmul{
            .dst = sum, .stationary = turned.slice(1, 0, 64), .moving = right, .accumulate = true});
      });
      const View result = builder.sbuf("result", {64, 32}, dtype);
      builder.emit(TensorCopy{result, sum});
      builder.emit(DmaCopy{.dst = out.select(0, i), .src = result});
      if (changes_a) builder.emit(TensorTensor{kept, kept, kept, AluOp::kAdd});
    });
    return builder.finish();
  }

 private:
  void turn(Builder& builder, const View& kept, const View& to, const Affine& k) const {
    const View tile = builder.psum("tile", {64, 64});
    builder.emit(NcTranspose{.dst = tile, .data = kept.select(1, k)});
    builder.emit(TensorCopy{to.slice(1, 0, 64), tile});
    if (!read_in_psum) return;
    const View again = builder.sbuf("again", {64, 64}, Dtype::kFloat32);
    builder.emit(TensorTensor{again, to.slice(1, 0, 64), tile, AluOp::kAdd});
  }
};

/// Transposes that are left; the line after the pass computes the same bytes.
size_t left(const Product& product) {
  const std::shared_ptr<const Program> program = product.program();
  StraightLine line = renamed_line(*program);
  run_pass(line, "reuse_transposes");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return widths(line, "nc_transpose").size();
}

TEST(ReuseTransposes, ATileIsTransposedOnceForAllLoops) {
  EXPECT_EQ(left({}), 2U);
  EXPECT_EQ(left({.blocks = 5, .tiles = 3}), 3U);
}

TEST(ReuseTransposes, TilesThatAreWrittenInBetweenAreTransposedAgain) {
  EXPECT_EQ(left({.changes_a = true}), 6U);
}

TEST(ReuseTransposes, ResultsThatOthersReadInPsumStay) {
  EXPECT_EQ(left({.read_in_psum = true}), 6U);
}

TEST(ReuseTransposes, AsManyAreKeptAsSbufHolds) {
  const int64_t room = load_architecture("trn2").limits.sbuf_usable.count - kDescriptorBytes;
  // The transposed tile and an operand or a result are live as well.
  const int64_t others = (8 * 64 + 32) * 4, fits = (room - others) / 8 / 4;
  EXPECT_EQ(left({.blocks = 2, .tiles = 8, .columns = fits}), 8U);
  EXPECT_EQ(left({.blocks = 2, .tiles = 8, .columns = fits + 1}), 16U);
}

TEST(ReuseTransposes, TransposesOnTheVectorEngineStay) {
  Builder builder("vector", load_architecture("trn2"));
  const View in = builder.argument("in", {32, 32}, Dtype::kFloat32);
  const View out = builder.argument("out", {3, 32, 32}, Dtype::kFloat32);
  const View x = builder.sbuf("x", {32, 32}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = x, .src = in});
  builder.loop(3, [&](const Affine& i) {
    const View turned = builder.sbuf("turned", {32, 32}, Dtype::kFloat32);
    builder.emit(NcTranspose{.dst = turned, .data = x, .engine = EngineKind::kVector});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = turned});
  });
  StraightLine line = renamed_line(*builder.finish());
  run_pass(line, "reuse_transposes");
  EXPECT_EQ(widths(line, "nc_transpose").size(), 3U);
}

/// Time of the body with all passes of the stack.
Picoseconds time_of(const Product& product) {
  const PassSettings& settings = published_stack("neuronx-cc trn2").settings;
  return simulate(*compile(product.program(), settings).program).body;
}

TEST(ReuseTransposes, AKernelThatTransposesInItsLoopTakesTheTimeOfOneThatTransposesBeforeIt) {
  EXPECT_EQ(time_of({.blocks = 40, .tiles = 4}), time_of({.blocks = 40, .tiles = 4, .once = true}));
}

}  // namespace
}  // namespace neuron_sim
