#include "device/compiler/middle_end/fold_zeros.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// out = initial + terms * (x.T x) for [128, 128] x, by products that add to a tile of PSUM.
struct Sum {
  double initial = 0;
  int64_t terms = 3;
  int64_t columns = 128;     ///< of the sum that products cover
  bool read_before = false;  ///< a copy reads the zeros first

  std::shared_ptr<const Program> program() const {
    Builder builder("sum", load_architecture("trn2"));
    const View in = builder.argument("in", {128, 128}, Dtype::kFloat32);
    const View out = builder.argument("out", {128, 128}, Dtype::kFloat32);
    const View x = builder.sbuf("x", {128, 128}, Dtype::kFloat32);
    const View result = builder.sbuf("result", {128, 128}, Dtype::kFloat32);
    const View sum = builder.psum("sum", {128, 128});
    builder.emit(DmaCopy{.dst = x, .src = in});
    builder.emit(Memset{sum, initial});
    if (read_before) builder.emit(TensorCopy{result, sum});
    builder.loop(terms, [&](const Affine&) {
      builder.emit(NcMatmul{.dst = sum.slice(1, 0, columns),
                            .stationary = x,
                            .moving = x.slice(1, 0, columns),
                            .accumulate = true});
    });
    builder.emit(TensorCopy{result, sum});
    builder.emit(DmaCopy{.dst = out, .src = result});
    return builder.finish();
  }
};

StraightLine folded(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "fold_zeros");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return line;
}

std::vector<Direction> sums(const StraightLine& line) {
  std::vector<Direction> result;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type != &kNcMatmul) continue;
    result.push_back(line.operands_of(instance)[0].direction);
  }
  return result;
}

constexpr Direction kOver = Direction::kWrite, kAdds = Direction::kReadWrite;

TEST(FoldZeros, TheFirstProductOverwritesAndTheMemsetIsGone) {
  const StraightLine line = folded(Sum{}.program());
  EXPECT_EQ(widths(line, "memset"), std::vector<int64_t>{});
  EXPECT_EQ(sums(line), (std::vector<Direction>{kOver, kAdds, kAdds}));
  EXPECT_EQ(sums(folded(Sum{.terms = 1}.program())), std::vector<Direction>{kOver});
}

TEST(FoldZeros, OtherValuesStay) {
  EXPECT_EQ(sums(folded(Sum{.initial = 1}.program())),
            (std::vector<Direction>{kAdds, kAdds, kAdds}));
}

TEST(FoldZeros, ZerosThatProductsDoNotCoverStay) {
  const StraightLine line = folded(Sum{.columns = 127}.program());
  EXPECT_EQ(widths(line, "memset"), std::vector<int64_t>{128});
  EXPECT_EQ(sums(line), (std::vector<Direction>{kAdds, kAdds, kAdds}));
}

TEST(FoldZeros, ZerosThatAreReadStay) {
  EXPECT_EQ(sums(folded(Sum{.read_before = true}.program())),
            (std::vector<Direction>{kAdds, kAdds, kAdds}));
}

TEST(FoldZeros, PartsThatAreFilledByDifferentProductsEachStartWithAnOverwrite) {
  Builder builder("parts", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 128}, Dtype::kFloat32);
  const View out = builder.argument("out", {128, 512}, Dtype::kFloat32);
  const View x = builder.sbuf("x", {128, 128}, Dtype::kFloat32);
  const View result = builder.sbuf("result", {128, 512}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {128, 512});
  builder.emit(DmaCopy{.dst = x, .src = in});
  builder.emit(Memset{sum, 0});
  builder.loop(2, [&](const Affine&) {
    builder.loop(4, [&](const Affine& part) {
      builder.emit(NcMatmul{
          .dst = sum.slice(1, part * 128, 128), .stationary = x, .moving = x, .accumulate = true});
    });
  });
  builder.emit(TensorCopy{result, sum});
  builder.emit(DmaCopy{.dst = out, .src = result});
  std::vector<Direction> expected(4, kOver);
  expected.resize(8, kAdds);
  EXPECT_EQ(sums(folded(builder.finish())), expected);
}

}  // namespace
}  // namespace neuron_sim
