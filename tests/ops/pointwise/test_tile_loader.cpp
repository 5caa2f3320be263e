#include "ops/pointwise/tile_loader.h"

#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"
#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

/// results[0] = expression(operands) in one piece of these sizes.
EmitKernel loading(const Expression& expression, const std::vector<int64_t>& sizes) {
  return [=](Builder& builder, std::span<const HbmTensor> operands,
             std::span<const HbmTensor> results) {
    int64_t elements = 1;
    for (size_t d = 1; d < sizes.size(); ++d) elements *= sizes[d];
    TileLoader loader(builder, expression, operands, sizes[0], elements);
    TilePiece piece{sizes, {}, std::vector<Affine>(operands.size(), 0)};
    for (const HbmTensor& operand : operands) piece.steps.push_back(operand.strides);
    const View value = loader.load(piece, 0);
    EXPECT_EQ(value.shape(), sizes);
    const View tile = builder.sbuf("copy", {sizes[0], elements}, results[0].dtype());
    builder.emit(TensorCopy{.dst = reshaped(tile, sizes), .src = value});
    store(builder, results[0].view(), reshaped(tile, sizes));
  };
}

std::vector<std::vector<int64_t>> layouts() {
  const std::vector<int64_t> shape{6, 3, 4, 5};
  std::vector<std::vector<int64_t>> result{permuted_strides(shape, {3, 1, 0, 2})};
  for (unsigned mask = 0; mask < 16; ++mask) {
    std::vector<bool> repeated;
    for (unsigned d = 0; d < 4; ++d) repeated.push_back((mask >> d & 1U) != 0);
    result.push_back(permuted_strides(shape, {0, 1, 2, 3}, repeated));
  }
  return result;
}

TEST(TileLoader, AnOperandComesInItsOwnDtypeAndRepeatsWhereItsStrideIsZero) {
  Expression operand;
  operand.add_result(operand.input(0));
  const std::vector<int64_t> shape{6, 3, 4, 5};
  for (const std::vector<int64_t>& strides : layouts()) {
    HostTensor tensor({shape, strides, Dtype::kBfloat16}, random_values(360));
    expect_values(run_kernel(load_architecture("trn2"), loading(operand, shape), {&tensor},
                             {{shape, {}, Dtype::kBfloat16}})
                      .front()
                      .values(),
                  tensor.values());
  }
}

TEST(TileLoader, ExpressionsOfSeveralOperandsAreComputedInFp32) {
  Expression difference;
  difference.add_result(difference.input(0) * 2.0 - difference.input(1));
  const std::vector<int64_t> shape{6, 3, 4, 5};
  HostTensor minuend({shape, {}, Dtype::kFloat16}, random_values(360, -4, 4, 1));
  for (const std::vector<int64_t>& strides : layouts()) {
    HostTensor subtrahend({shape, strides}, random_values(360, -4, 4, 2));
    const std::vector<double> x = minuend.values(), y = subtrahend.values();
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      expected.push_back(round_to(Dtype::kFloat32, 2 * x[i] - y[i]));
    }
    expect_values(run_kernel(load_architecture("trn2"), loading(difference, shape),
                             {&minuend, &subtrahend}, {{shape, {}}})
                      .front()
                      .values(),
                  expected);
  }
}

TEST(TileLoader, TakesTheBytesThatItSays) {
  const Architecture& architecture = load_architecture("trn2");
  Builder builder("kernel", architecture);
  const std::vector<HbmTensor> operands{
      argument_tensor(builder, "a", {{128, 64}, {}}),
      argument_tensor(builder, "b", {{128, 64}, {}, Dtype::kBfloat16})};
  Expression e;
  e.add_result(call(Activation::kExp, e.input(0) + e.input(1)) * e.input(0));
  const int64_t bytes = TileLoader::bytes_per_element(builder, e, operands);
  EXPECT_EQ(bytes, 2 * (4 + 2) + 2 * 4 + 2 * 4);  // operands, values, one slot
  const int64_t most = architecture.limits.sbuf_usable.count / bytes / 64 * 64;
  EXPECT_EQ(error_of([&] { builder.scope([&] { TileLoader(builder, e, operands, 128, most); }); }),
            "");
  EXPECT_NE(error_of([&] {
              builder.scope([&] { TileLoader(builder, e, operands, 128, most + 64); });
            }).find("out of memory in sbuf"),
            std::string::npos);
}

TEST(TileLoader, ReshapedTilesHaveTheSameElements) {
  Builder builder("kernel", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {7, 60}, Dtype::kFloat32);
  EXPECT_EQ(reshaped(tile, {7, 60}).shape(), (std::vector<int64_t>{7, 60}));
  EXPECT_EQ(reshaped(tile, {7, 3, 4, 5}).shape(), (std::vector<int64_t>{7, 3, 4, 5}));
  EXPECT_EQ(reshaped(tile, {7, 3, 4, 5}).element_strides(), (std::vector<int64_t>{1, 20, 5, 1}));
}

}  // namespace
}  // namespace neuron_sim
