#include "device/operand/view.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

View tile() { return View(MemoryKind::kSbuf, 3, Dtype::kFloat32, {64, 6, 10}, {1, 40, 4}, "t"); }
View tensor() { return View(MemoryKind::kHbm, 1, Dtype::kFloat32, {64, 6, 10}, {240, 40, 4}, "x"); }

template <typename Action>
std::string error_of(Action&& action, ErrorKind kind = ErrorKind::kValue) {
  try {
    action();
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

TEST(View, SlicesWithinTheDimension) {
  const View view = tile().slice(2, 1, 3, 4);
  EXPECT_EQ(view.shape(), (std::vector<int64_t>{64, 6, 3}));
  EXPECT_EQ(view.offset().constant(), 4);
  EXPECT_EQ(view.dimension(2).stride, 16);
  EXPECT_EQ(tile().slice(0, 32, 32).partition().constant(), 32);
  EXPECT_EQ(tensor().slice(0, 2, 31, 2).offset().constant(), 480);
}

TEST(View, ReportsSlicesThatLeaveTheDimension) {
  EXPECT_EQ(error_of([] { tile().slice(2, 7, 3); }), "");
  EXPECT_EQ(error_of([] { tile().slice(2, 8, 3); }, ErrorKind::kIndex),
            "Out-of-bound access for tensor `t` on dimension 2: index range [8, 10] exceed "
            "dimension size of 10");
  EXPECT_EQ(error_of([] { tile().slice(2, -1, 1); }, ErrorKind::kIndex),
            "Out-of-bound access for tensor `t` on dimension 2: index range [-1, -1] exceed "
            "dimension size of 10");
  EXPECT_EQ(error_of([] { tile().slice(2, 0, 4, 3); }), "");
  EXPECT_NE(error_of([] { tile().slice(2, 0, 5, 3); }, ErrorKind::kIndex), "");
  const Affine i = Affine::variable(0);
  EXPECT_EQ(error_of([&] { tile().slice(2, i, 10); }), "");
  EXPECT_NE(error_of([&] { tile().slice(2, i, 11); }, ErrorKind::kIndex), "");
  EXPECT_EQ(error_of([] { tile().slice(3, 0, 1); }, ErrorKind::kIndex),
            "slice of tensor 't[64, 6, 10]': dimension 3 does not exist; it has 3.");
  EXPECT_EQ(error_of([] { tile().slice(1, 0, 1, 0); }, ErrorKind::kIndex),
            "slice of tensor 't[64, 6, 10]': size 1 or step 0 is not positive.");
  EXPECT_EQ(error_of([] { tile().slice(0, 0, 2, 2); }),
            "slice of tensor 't[64, 6, 10]': partition stride 2 is not supported; partitions are "
            "contiguous.");
}

TEST(View, SelectsOneIndexAndDropsTheDimension) {
  const View view = tensor().select(1, 5);
  EXPECT_EQ(view.shape(), (std::vector<int64_t>{64, 10}));
  EXPECT_EQ(view.offset().constant(), 200);
  EXPECT_EQ(tensor().select(0, Affine::variable(2) * 3).offset().coefficient(2), 720);
  const View scalar = tensor().select(0, 1).select(0, 2).select(0, 3);
  EXPECT_EQ(scalar.rank(), 1);
  EXPECT_EQ(scalar.partitions(), 1);
  EXPECT_EQ(scalar.offset().constant(), 240 + 80 + 12);
  EXPECT_EQ(error_of([] { tile().select(0, 1); }),
            "select of tensor 't[64, 6, 10]': the partition dimension stays on chip.");
  EXPECT_NE(error_of([] { tensor().select(1, 6); }, ErrorKind::kIndex), "");
}

TEST(View, BroadcastsOnlyDimensionsOfSizeOne) {
  const View view = tile().slice(1, 2, 1).broadcast(1, 7);
  EXPECT_EQ(view.size(1), 7);
  EXPECT_EQ(view.dimension(1).stride, 0);
  EXPECT_EQ(error_of([] { tile().broadcast(1, 7); }),
            "broadcast of tensor 't[64, 6, 10]': dimension 1 has size 6, not 1.");
}

TEST(View, SplitsAndMergesBack) {
  const View view = tile().split(1, 2, 3);
  EXPECT_EQ(view.shape(), (std::vector<int64_t>{64, 2, 3, 10}));
  EXPECT_EQ(view.dimension(1).stride, 120);
  EXPECT_EQ(view.merge(1).dimension(1).stride, 40);
  EXPECT_EQ(view.merge(1).shape(), tile().shape());
  EXPECT_EQ(tile().flatten().shape(), (std::vector<int64_t>{64, 60}));
  EXPECT_EQ(tile().slice(2, 0, 9).flatten().rank(), 3);
  for (const int64_t outer : {4, -2}) {
    EXPECT_EQ(error_of([&] { tile().split(1, outer, outer == 4 ? 2 : -3); }),
              text("split of tensor 't[64, 6, 10]': ", outer, " x ", outer == 4 ? 2 : -3,
                   " is not the size of dimension 1."));
  }
  EXPECT_EQ(error_of([] { tile().split(0, 2, 32); }),
            "split of tensor 't[64, 6, 10]': the partition dimension cannot be split.");
  EXPECT_EQ(error_of([] { tile().slice(2, 0, 9).merge(1); }),
            "merge of tensor 't[64, 6, 9]': dimensions 1 and 2 are not adjacent in memory.");
  EXPECT_NE(error_of([] { tile().merge(0); }), "");
  EXPECT_EQ(tensor().merge(0).shape(), (std::vector<int64_t>{384, 10}));
  EXPECT_NE(error_of([] { tile().merge(2); }, ErrorKind::kIndex), "");
}

TEST(View, ExpandsUpToTheRankOfAnAccessPattern) {
  const View four = tile().expand(1);
  EXPECT_EQ(four.shape(), (std::vector<int64_t>{64, 1, 6, 10}));
  const View five = four.expand(4);
  EXPECT_EQ(five.shape(), (std::vector<int64_t>{64, 1, 6, 10, 1}));
  EXPECT_EQ(error_of([&] { five.expand(1); }),
            "expand of tensor 't[64, 1, 6, 10, 1]': an access pattern has at most 5 dimensions.");
  EXPECT_EQ(error_of([] { tile().expand(0); }),
            "expand of tensor 't[64, 6, 10]': the partition dimension stays first.");
  EXPECT_EQ(tensor().expand(0).size(0), 1);
  EXPECT_EQ(error_of([] { tile().expand(4); }, ErrorKind::kIndex),
            "expand of tensor 't[64, 6, 10]': no dimension can be added before dimension 4; it has "
            "3.");
}

TEST(View, PermutesEveryDimensionOnce) {
  const View view = tile().permute({0, 2, 1});
  EXPECT_EQ(view.shape(), (std::vector<int64_t>{64, 10, 6}));
  EXPECT_EQ(view.dimension(2).stride, 40);
  EXPECT_EQ(tensor().permute({2, 0, 1}).dimension(0).stride, 4);
  EXPECT_EQ(error_of([] {
              tile().permute({1, 0, 2});
            }),
            "permute of tensor 't[64, 6, 10]': the partition dimension stays first.");
  for (const std::vector<int>& order : {std::vector<int>{0, 1}, {0, 1, 1}, {0, 1, 2, 2}}) {
    EXPECT_EQ(error_of([&] { tile().permute(order); }),
              "permute of tensor 't[64, 6, 10]': the order must name each of its 3 dimensions "
              "once.");
  }
  EXPECT_NE(error_of([] { tile().permute({0, 1, 3}); }, ErrorKind::kIndex), "");
}

TEST(View, ReinterpretsOnlyElementsOfEqualSize) {
  EXPECT_EQ(tile().reinterpret(Dtype::kInt32).dtype(), Dtype::kInt32);
}

TEST(View, IsIndirectOnlyInHbm) {
  EXPECT_EQ(tensor().indirect(9).index_rows(), 9);
  EXPECT_FALSE(tensor().is_indirect());
  EXPECT_EQ(error_of([] { tile().indirect(9); }),
            "indirect access of tensor 't[64, 6, 10]': only HBM tensors can be indexed.");
}

TEST(View, HasOneToFiveDimensions) {
  const auto make = [](size_t rank) {
    return View(MemoryKind::kHbm, 0, Dtype::kInt8, std::vector<int64_t>(rank, 2),
                std::vector<int64_t>(rank, 1), "v");
  };
  EXPECT_EQ(error_of([&] { make(5); }), "");
  EXPECT_EQ(error_of([&] { make(6); }),
            "tensor 'v' has 6 dimensions; an access pattern has 1 to 5.");
  EXPECT_NE(error_of([&] { make(0); }), "");
}

TEST(Affine, AddsMultipliesAndEvaluates) {
  const Affine i = Affine::variable(0), j = Affine::variable(3);
  const Affine sum = 5 * i - j * 2 + 7;
  const int64_t variables[kMaximumLoopDepth] = {10, 99, 99, 4};
  EXPECT_EQ(sum.at(variables), 50 - 8 + 7);
  EXPECT_EQ(sum.levels(), 4);
  EXPECT_EQ((sum + j * 2).levels(), 1);
  EXPECT_TRUE((sum * 0).is_constant());
  EXPECT_EQ((sum * 0).at(variables), 0);
  EXPECT_TRUE((i - i).is_constant());
  EXPECT_THROW(Affine::variable(kMaximumLoopDepth), SimulatorBug);
  EXPECT_NO_THROW(Affine::variable(kMaximumLoopDepth - 1));
}

}  // namespace
}  // namespace neuron_sim
