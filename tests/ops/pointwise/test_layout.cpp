#include "ops/pointwise/layout.h"

#include "device/isa/elementwise/tensor_scalar.h"
#include "ops/blocks/tiles.h"
#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

/// Adds one to every element of the last operand by pieces of a layout of all operands.
EmitKernel counting(int64_t elements) {
  return [=](Builder& builder, std::span<const HbmTensor> operands, std::span<const HbmTensor>) {
    const PointwiseLayout layout(builder.limits(), operands, elements);
    const size_t last = operands.size() - 1;
    const View ring = builder.sbuf("tile", {layout.partitions(), layout.tile_elements()},
                                   operands[last].dtype(), 2);
    layout.for_each(
        builder, [](const PointwisePiece&) {},
        [&](const PointwisePiece& piece) {
          const View hbm = piece.view(operands[last], last);
          EXPECT_LE(hbm.partitions(), layout.partitions());
          EXPECT_LE(hbm.free_elements(), layout.tile_elements());
          const View tile =
              ring.turn(piece.turn).slice(0, 0, hbm.partitions()).slice(1, 0, hbm.free_elements());
          load(builder, tile, hbm);
          builder.emit(TensorScalar{.dst = tile, .data = tile, .op0 = AluOp::kAdd, .constant0 = 1});
          store(builder, hbm, tile);
        });
  };
}

void check_counts(const Architecture& architecture, const std::vector<int64_t>& shape,
                  const std::vector<std::vector<int64_t>>& strides, int64_t elements) {
  std::vector<HostTensor> operands;
  std::vector<HostTensor*> pointers;
  std::string trace = text(architecture.name, ", tiles of ", elements);
  for (const std::vector<int64_t>& steps : strides) {
    const TensorSpec spec{shape, steps, Dtype::kInt32};
    operands.emplace_back(spec, std::vector<double>(static_cast<size_t>(spec.elements()), 0.0));
    trace += ", " + describe("tensor", spec);
    for (const int64_t step : steps) trace += text(" ", step);
  }
  SCOPED_TRACE(trace);
  for (HostTensor& operand : operands) pointers.push_back(&operand);
  run_in_place(architecture, counting(elements), pointers);
  const std::vector<double> counts = operands.back().values();
  expect_values(counts, std::vector<double>(counts.size(), 1.0));
}

TEST(PointwiseLayout, PiecesCoverEveryElementExactlyOnce) {
  RandomLayouts random(7);
  for (int trial = 0; trial < 250; ++trial) {
    const Architecture& architecture =
        load_architecture(std::array{"trn1", "trn2", "trn3"}[trial % 3]);
    const std::vector<int64_t> shape = random.shape(7, 30000);
    const int64_t elements = std::array<int64_t, 5>{1, 5, 64, 511, 2048}[trial % 5];
    check_counts(architecture, shape, {random.strides(shape, true), random.strides(shape, false)},
                 elements);
  }
}

TEST(PointwiseLayout, PiecesCoverSizesAroundEveryLimit) {
  const Architecture& architecture = load_architecture("trn2");
  for (const int64_t size : {1, 127, 128, 129, 255, 256, 257, 16383, 16384, 16385, 16411, 65537}) {
    check_counts(architecture, {size}, {{1}}, 512);
    check_counts(architecture, {2, size}, {{0, 1}, {size, 1}}, 512);
    check_counts(architecture, {size, 2}, {{1, 0}, {1, size}}, 512);
  }
}

TEST(PointwiseLayout, OneLongDimensionFillsThePartitions) {
  Builder builder("layout", load_architecture("trn2"));
  const HbmTensor tensor = argument_tensor(builder, "a", {{128 * 600}, {}});
  std::vector<std::vector<int64_t>> sizes;
  PointwiseLayout(builder.limits(), std::span(&tensor, 1), 1024)
      .for_each(
          builder, [](const PointwisePiece&) {},
          [&](const PointwisePiece& piece) { sizes.push_back(piece.sizes); });
  EXPECT_EQ(sizes, (std::vector<std::vector<int64_t>>{{128, 600}}));
}

TEST(PointwiseLayout, ShortRowsShareAPartition) {
  Builder builder("layout", load_architecture("trn2"));
  const HbmTensor tensor = argument_tensor(builder, "a", {{12800, 4}, {5, 1}});
  std::vector<std::vector<int64_t>> sizes;
  PointwiseLayout(builder.limits(), std::span(&tensor, 1), 1024)
      .for_each(
          builder, [](const PointwisePiece&) {},
          [&](const PointwisePiece& piece) { sizes.push_back(piece.sizes); });
  EXPECT_EQ(sizes, (std::vector<std::vector<int64_t>>{{128, 100, 4}}));
}

TEST(PointwiseLayout, RepeatedRowsAreKnownToBeInvariant) {
  Builder builder("layout", load_architecture("trn2"));
  const std::vector<HbmTensor> tensors{argument_tensor(builder, "bias", {{300, 70}, {0, 1}}),
                                       argument_tensor(builder, "x", {{300, 70}, {}})};
  int runs = 0;
  PointwiseLayout(builder.limits(), tensors, 70)
      .for_each(
          builder,
          [&](const PointwisePiece& piece) {
            ++runs;
            EXPECT_TRUE(piece.is_invariant(0));
            EXPECT_FALSE(piece.is_invariant(1));
          },
          [](const PointwisePiece&) {});
  EXPECT_EQ(runs, 1);
}

TEST(PointwiseLayout, TensorsOfOtherShapesAreABugOfTheKernel) {
  Builder builder("layout", load_architecture("trn2"));
  const std::vector<HbmTensor> tensors{argument_tensor(builder, "a", {{3, 7}, {}}),
                                       argument_tensor(builder, "b", {{7, 3}, {}})};
  EXPECT_THROW(PointwiseLayout(builder.limits(), tensors, 70), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
