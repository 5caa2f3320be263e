#include "device/compiler/middle_end/fold_casts.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// x.T x, copied out of PSUM as float32 and stored as `out`.
struct Product {
  Dtype out = Dtype::kBfloat16;
  int64_t columns = 128;
  bool stored_twice = false;
  bool scaled = false;  ///< leaves PSUM by a tensor_scalar instead

  std::shared_ptr<const Program> program() const {
    Builder builder("product", load_architecture("trn2"));
    const View in = builder.argument("in", {128, 128}, Dtype::kFloat32);
    const View first = builder.argument("first", {128, columns}, out);
    const View second = builder.argument("second", {128, columns}, out);
    const View x = builder.sbuf("x", {128, 128}, Dtype::kFloat32);
    const View result = builder.sbuf("result", {128, columns}, Dtype::kFloat32);
    const View sum = builder.psum("sum", {128, columns});
    builder.emit(DmaCopy{.dst = x, .src = in});
    builder.emit(NcMatmul{.dst = sum, .stationary = x, .moving = x.slice(1, 0, columns)});
    if (scaled) {
      builder.emit(
          TensorScalar{.dst = result, .data = sum, .op0 = AluOp::kMultiply, .constant0 = 3});
    } else {
      builder.emit(TensorCopy{result, sum});
    }
    builder.emit(DmaCopy{.dst = first, .src = result});
    if (stored_twice) builder.emit(DmaCopy{.dst = second, .src = result});
    return builder.finish();
  }
};

/// Dtype of the tile that is stored.
Dtype stored(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "fold_casts");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  const Operand& source = line.operands_of(line.instructions.back())[1];
  EXPECT_EQ(line.tile_of(source).dtype, source.dtype);
  EXPECT_EQ(line.tile_of(source).bytes % itemsize(source.dtype), 0);
  return source.dtype;
}

TEST(FoldCasts, TheCopyOutOfPsumCasts) {
  for (const Dtype dtype : {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32}) {
    for (const int64_t columns : {1, 37, 128}) {
      EXPECT_EQ(stored(Product{.out = dtype, .columns = columns}.program()), dtype);
    }
  }
}

TEST(FoldCasts, ATileThatTwoTransfersReadStays) {
  EXPECT_EQ(stored(Product{.stored_twice = true}.program()), Dtype::kFloat32);
}

TEST(FoldCasts, ResultsOfOtherInstructionsAreCastByTheTransfer) {
  EXPECT_EQ(stored(Product{.scaled = true}.program()), Dtype::kFloat32);
}

}  // namespace
}  // namespace neuron_sim
