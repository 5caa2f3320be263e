#include "device/compiler/middle_end/share_constants.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// out.slice(0, 128 * i, 128) = in.slice(0, 128 * i, 128) + constant_i for tiles [128, 64]; every
/// sum has a tile for its constant.
struct Sums {
  std::vector<double> values;
  int64_t iterations = 1;                   ///< of a loop around all sums
  Dtype last = Dtype::kFloat32;             ///< of the last constant
  int64_t last_columns = 64;                ///< that the last memset sets; the tile has 64
  bool written_again = false;               ///< the last constant is set again after it was read
  EngineKind engine = EngineKind::kVector;  ///< of the last memset

  std::shared_ptr<const Program> program() const {
    const auto count = static_cast<int64_t>(values.size());
    Builder builder("sums", load_architecture("trn2"));
    const View in = builder.argument("in", {128 * count, 64}, Dtype::kFloat32);
    const View out = builder.argument("out", {128 * count, 64}, Dtype::kFloat32);
    builder.loop(iterations, [&](const Affine&) {
      for (int64_t i = 0; i < count; ++i) {
        const bool is_last = i + 1 == count;
        const Dtype dtype = is_last ? last : Dtype::kFloat32;
        const double value = values[static_cast<size_t>(i)];
        const View x = builder.sbuf("x", {128, 64}, Dtype::kFloat32);
        const View constant = builder.sbuf("constant", {128, 64}, dtype);
        builder.emit(DmaCopy{.dst = x, .src = in.slice(0, 128 * i, 128)});
        if (is_last && last_columns < 64) builder.emit(Memset{constant, 0.0});
        Memset memset{constant.slice(1, 0, is_last ? last_columns : 64), value};
        if (is_last) memset.engine = engine;
        builder.emit(memset);
        builder.emit(TensorTensor{.dst = x, .data1 = x, .data2 = constant, .op = AluOp::kAdd});
        builder.emit(DmaCopy{.dst = out.slice(0, 128 * i, 128), .src = x});
        if (is_last && written_again)
          builder.emit(
              TensorTensor{.dst = constant, .data1 = constant, .data2 = x, .op = AluOp::kAdd});
        if (is_last && written_again)
          builder.emit(DmaCopy{.dst = out.slice(0, 128 * i, 128), .src = constant});
      }
    });
    return builder.finish();
  }
};

int64_t memsets(const Sums& sums) {
  const auto program = sums.program();
  StraightLine line = renamed_line(*program);
  run_pass(line, "share_constants");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return std::count_if(
      line.instructions.begin(), line.instructions.end(),
      [](const StraightInstruction& each) { return each.instruction.type == &kMemset; });
}

TEST(ShareConstants, EqualConstantsOfManyStatementsAndIterationsAreOneTile) {
  EXPECT_EQ(memsets({.values = {2}}), 1);
  EXPECT_EQ(memsets({.values = {2, 2, 2}}), 1);
  EXPECT_EQ(memsets({.values = {2, 2}, .iterations = 5}), 1);
}

TEST(ShareConstants, OtherValuesAndDtypesStayApart) {
  EXPECT_EQ(memsets({.values = {2, 3, 2, 3}}), 2);
  EXPECT_EQ(memsets({.values = {0.0, -0.0}}), 2);
  EXPECT_EQ(memsets({.values = {2, 2, 2}, .last = Dtype::kBfloat16}), 2);
}

TEST(ShareConstants, TilesThatAreSetInPartsOrWrittenAgainStay) {
  EXPECT_EQ(memsets({.values = {2, 2}, .last_columns = 32}), 3);
  EXPECT_EQ(memsets({.values = {2, 2}, .last_columns = 64}), 1);
  EXPECT_EQ(memsets({.values = {2, 2, 2}, .written_again = true}), 2);
}

TEST(ShareConstants, AMemsetOfAnotherEngineStays) {
  EXPECT_EQ(memsets({.values = {2, 2}, .engine = EngineKind::kGpSimd}), 2);
}

}  // namespace
}  // namespace neuron_sim
