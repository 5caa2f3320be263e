#include "ops/graph/fuse_rows.h"

#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

const std::vector<int64_t> kShape{130, 20};
constexpr int64_t kElements = 130 * 20;

GraphTensor whole(size_t memory, Dtype dtype = Dtype::kFloat32) {
  return tensor_in(memory, kShape, {}, 0, dtype);
}

GraphKernel sum(size_t a, size_t b, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0) + e.input(1); }, {whole(a), whole(b)}, to);
}

/// memory `to` = memory `from` less its means, which memory 9 gets.
GraphKernel rows(size_t from, size_t to) {
  return rows_of(centred(20), {whole(from)}, {whole(to), tensor_in(9, {130, 1})});
}

GraphKernel rounded(size_t from, size_t to) {
  return pointwise([](Expression& e) { return e.input(0); }, {whole(from)},
                   whole(to, Dtype::kBfloat16));
}

size_t left(const std::vector<GraphKernel>& kernels, const External& external) {
  return joined_kernels(kernels, external, random_memories(std::vector<int64_t>(10, kElements)));
}

TEST(FuseRows, ASumBeforeAndARoundingAfterJoinTheRowProgram) {
  EXPECT_EQ(left({sum(0, 1, whole(2)), rows(2, 3), rounded(3, 4)}, {0, 1, 4}), 1U);
}

TEST(FuseRows, ValuesThatAreReadElsewhereAreStoredToo) {
  EXPECT_EQ(left({sum(0, 1, whole(2)), rows(2, 3), rounded(3, 4)}, {0, 1, 2, 3, 4, 9}), 1U);
}

TEST(FuseRows, OperandsThatRowsShareAreOneRow) {
  const GraphTensor bias = tensor_in(1, kShape, {0, 1});
  const GraphKernel add =
      pointwise([](Expression& e) { return e.input(0) + e.input(1); }, {whole(0), bias}, whole(2));
  EXPECT_EQ(left({add, rows(2, 3)}, {0, 1, 3}), 1U);
  const GraphKernel scale =
      pointwise([](Expression& e) { return e.input(0) * e.input(1); }, {whole(3), bias}, whole(4));
  EXPECT_EQ(left({rows(0, 3), scale}, {0, 1, 4}), 1U);
}

TEST(FuseRows, OtherSizesOfTheSameElementsJoin) {
  const std::vector<int64_t> split{10, 13, 20};
  const GraphKernel add =
      pointwise([](Expression& e) { return e.input(0) + e.input(1); },
                {tensor_in(0, split), tensor_in(1, split)}, tensor_in(2, split));
  EXPECT_EQ(left({add, rows(2, 3)}, {0, 1, 3}), 1U);
}

TEST(FuseRows, OtherElementsStayApart) {
  const GraphKernel half = pointwise([](Expression& e) { return e.input(0) * 2.0; },
                                     {tensor_in(0, {65, 20})}, tensor_in(2, {65, 20}));
  EXPECT_EQ(left({half, rows(2, 3)}, {0, 2, 3}), 2U);
  const GraphKernel turned = pointwise([](Expression& e) { return e.input(0) * 2.0; }, {whole(0)},
                                       tensor_in(2, kShape, {1, 130}));
  EXPECT_EQ(left({turned, rows(2, 3)}, {0, 3}), 2U);
}

TEST(FuseRows, AKernelThatStandsBetweenKeepsItsPlace) {
  // Memory 0 is overwritten before the rows are read.
  const GraphKernel overwrite =
      pointwise([](Expression& e) { return e.input(0) * 2.0; }, {whole(1)}, whole(0));
  GraphKernel hidden_rows = rows(0, 3);
  EXPECT_EQ(left({sum(0, 1, whole(2)), overwrite, rows(2, 3)}, {0, 1, 3}), 2U);
  hidden_rows.traits = {};
  EXPECT_EQ(left({sum(0, 1, whole(0)), hidden_rows}, {0, 1, 3}), 2U) << "not a row program";
}

TEST(FuseRows, RowsThatWouldNotFitStayApart) {
  // Twelve bytes per element and tensor less than fill a partition; one more tensor does not fit.
  const int64_t columns = 5500;
  const std::vector<int64_t> shape{3, columns};
  const auto tensor = [&](size_t memory) { return tensor_in(memory, shape); };
  const GraphKernel add = pointwise([](Expression& e) { return e.input(0) + e.input(1); },
                                    {tensor(0), tensor(1)}, tensor(2));
  const GraphKernel norm =
      rows_of(centred(columns), {tensor(2)}, {tensor(3), tensor_in(9, {3, 1})});
  EXPECT_EQ(joined_kernels({add, norm}, {0, 1, 3},
                           random_memories(std::vector<int64_t>(10, 3 * columns))),
            2U);
}

}  // namespace
}  // namespace neuron_sim
