#include "device/compiler/middle_end/hoist_invariants.h"

#include <algorithm>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// out[i, j] = (x[i] x[i]) + b[j]: the product does not change in the inner loop, which is that of
/// j unless `swapped`.
struct Scan {
  bool swapped = false;
  bool changes_x = false;     ///< the inner loop writes x after the product
  bool through_psum = false;  ///< the product comes from TensorE and is copied out of PSUM

  std::shared_ptr<const Program> program() const {
    Builder builder("scan", load_architecture("trn2"));
    const Dtype dtype = Dtype::kFloat32;
    const View a = builder.argument("a", {3, 64, 32}, dtype);
    const View b = builder.argument("b", {4, 32, 32}, dtype);
    const View out = builder.argument("out", {3, 4, 32, 32}, dtype);
    const auto body = [&](const Affine& i, const Affine& j, const View& x) {
      const View square = builder.sbuf("square", {32, 32}, dtype);
      if (through_psum) {
        const View sum = builder.psum("sum", {32, 32});
        builder.emit(NcMatmul{.dst = sum, .stationary = x, .moving = x});
        builder.emit(TensorCopy{square, sum});
      } else {
        const View rows = x.slice(0, 0, 32);
        builder.emit(TensorTensor{square, rows, rows, AluOp::kMultiply});
      }
      const View y = builder.sbuf("y", {32, 32}, dtype);
      builder.emit(DmaCopy{y, b.select(0, j)});
      builder.emit(TensorTensor{y, y, square, AluOp::kAdd});
      builder.emit(DmaCopy{out.select(0, i).select(0, j), y});
      if (changes_x) builder.emit(TensorTensor{x, x, x, AluOp::kAdd});
    };
    const auto load = [&](const Affine& i) {
      const View x = builder.sbuf("x", {64, 32}, dtype);
      builder.emit(DmaCopy{x, a.select(0, i)});
      return x;
    };
    if (swapped) {
      builder.loop(4, [&](const Affine& j) {
        builder.loop(3, [&](const Affine& i) { body(i, j, load(i)); });
      });
    } else {
      builder.loop(3, [&](const Affine& i) {
        const View x = load(i);
        builder.loop(4, [&](const Affine& j) { body(i, j, x); });
      });
    }
    return builder.finish();
  }
};

/// Instances of that name after the pass, whose result computes the same bytes.
int64_t left(const Scan& scan, std::string_view name) {
  const auto program = scan.program();
  StraightLine line = renamed_line(*program);
  run_pass(line, "hoist_invariants");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  const auto all = names(line);
  return std::count(all.begin(), all.end(), name);
}

TEST(HoistInvariants, ComputesOnceWhatDoesNotChangeInTheInnermostLoop) {
  EXPECT_EQ(left({}, "tensor_tensor"), 3 + 12);  // one product per i, all sums
}

TEST(HoistInvariants, LeavesWhatChangesInTheInnermostLoop) {
  EXPECT_EQ(left({.swapped = true}, "tensor_tensor"), 12 + 12);
}

TEST(HoistInvariants, LeavesWhatReadsSomethingThatWasWrittenInBetween) {
  EXPECT_EQ(left({.changes_x = true}, "tensor_tensor"), 12 + 12 + 12);
}

TEST(HoistInvariants, MovesProductsOutOfPsumWithTheirCopies) {
  EXPECT_EQ(left({.through_psum = true}, "nc_matmul"), 3);
  EXPECT_EQ(left({.through_psum = true}, "tensor_copy"), 3);
  EXPECT_EQ(left({.swapped = true, .through_psum = true}, "nc_matmul"), 12);
}

TEST(HoistInvariants, LeavesTransfersAlone) { EXPECT_EQ(left({}, "dma_copy"), 3 + 12 + 12); }

}  // namespace
}  // namespace neuron_sim
