#include "ops/contract/hbm_tensor.h"

#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

TEST(HbmTensor, ExtentsReachFromTheFirstToTheLastElement) {
  EXPECT_EQ(extent_of({}, {}), 1);
  EXPECT_EQ(extent_of({3, 4}, {4, 1}), 12);
  EXPECT_EQ(extent_of({3, 4}, {10, 2}), 27);
  EXPECT_EQ(extent_of({3, 4}, {0, 0}), 1);
  EXPECT_EQ(extent_of({3, 0}, {10, 2}), 0);
}

TEST(HbmTensor, DenseStridesAreRowMajor) {
  EXPECT_EQ(dense_strides({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(dense_strides({}), std::vector<int64_t>{});
}

TEST(HbmTensor, AnArgumentTakesTheMemoryOfItsStrides) {
  Builder builder("kernel", load_architecture("trn2"));
  const TensorSpec spec{{3, 4}, {10, 2}, Dtype::kBfloat16};
  const HbmTensor tensor = argument_tensor(builder, "a", spec);
  EXPECT_EQ(tensor.storage.shape(), std::vector<int64_t>{27});
  EXPECT_EQ(tensor.elements(), 12);
  EXPECT_EQ(tensor.dtype(), Dtype::kBfloat16);
  EXPECT_EQ(spec_of(tensor), spec);
  EXPECT_EQ(argument_tensor(builder, "none", {{0, 5}, {}}).storage.shape(),
            std::vector<int64_t>{1});
  const HbmTensor scratch = scratch_tensor(builder, "s", {5, 7}, Dtype::kInt32);
  EXPECT_EQ(scratch.strides, (std::vector<int64_t>{7, 1}));
  EXPECT_EQ(scratch.storage.shape(), std::vector<int64_t>{35});
}

TEST(HbmTensor, ViewsBeginAtTheTensorsFirstElement) {
  Builder builder("kernel", load_architecture("trn2"));
  HbmTensor tensor = argument_tensor(builder, "a", {{10, 10}, {}});
  tensor.offset = 20;
  tensor.shape = {3, 5};
  EXPECT_EQ(tensor.view().element_offset(), Affine(20));
  EXPECT_EQ(tensor.view().shape(), (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(tensor.view().element_strides(), (std::vector<int64_t>{10, 1}));
  EXPECT_EQ(tensor.view({2}, {3}, 7).element_offset(), Affine(27));
  tensor.shape = tensor.strides = {};
  EXPECT_EQ(tensor.view().shape(), std::vector<int64_t>{1});
}

TEST(HbmTensor, ViewsStayInsideOfTheMemoryAndOfTheRank) {
  Builder builder("kernel", load_architecture("trn2"));
  const HbmTensor tensor = argument_tensor(builder, "a", {{100}, {}});
  EXPECT_EQ(error_of([&] { tensor.view({10, 10}, {10, 1}); }), "");
  EXPECT_NE(error_of([&] { tensor.view({10, 10}, {10, 1}, 1); }), "");
  EXPECT_EQ(error_of([&] { tensor.view({2, 2, 2, 2, 2}, {16, 8, 4, 2, 1}); }), "");
  EXPECT_NE(error_of([&] { tensor.view({2, 2, 2, 2, 2, 2}, {32, 16, 8, 4, 2, 1}); }), "");
  EXPECT_THROW(tensor.view({2, 2}, {1}), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
