// What the builder refuses of a collective.

#include "device/isa/dma/collective.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/builder/builder.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
using Lists = std::vector<std::vector<int64_t>>;

std::shared_ptr<const ReplicaGroups> groups(Lists lists) {
  return std::make_shared<const ReplicaGroups>(ReplicaGroups{std::move(lists)});
}

/// A kernel that takes one collective.
class CollectiveBench {
 public:
  View hbm(const std::vector<int64_t>& shape, Dtype dtype = kFloat) {
    return builder_.scratch("h", shape, dtype);
  }
  View sbuf(const std::vector<int64_t>& shape, Dtype dtype = kFloat) {
    return builder_.sbuf("s", shape, dtype);
  }
  View psum(const std::vector<int64_t>& shape) { return builder_.psum("p", shape, kFloat); }
  std::string error(const Collective& collective) {
    try {
      builder_.emit(collective);
    } catch (const KernelError& error) {
      return error.what();
    }
    return "";
  }
  std::shared_ptr<const Program> finish() { return builder_.finish(); }

 private:
  Builder builder_{"bench", load_architecture("trn2")};
};

TEST(Collective, NeedsTheSizesThatItsKindGives) {
  CollectiveBench bench;
  const auto error = [&](CollectiveKind kind, const std::vector<int64_t>& dst,
                         const std::vector<int64_t>& src) {
    return bench.error({kind, bench.hbm(dst), bench.hbm(src), groups({{0, 1, 2}})});
  };
  EXPECT_EQ(error(CollectiveKind::kAllReduce, {4, 5}, {4, 5}), "");
  EXPECT_EQ(error(CollectiveKind::kAllGather, {12, 5}, {4, 5}), "");
  EXPECT_EQ(error(CollectiveKind::kReduceScatter, {4, 5}, {12, 5}), "");
  EXPECT_EQ(error(CollectiveKind::kAllToAll, {12, 5}, {12, 5}), "");
  EXPECT_EQ(error(CollectiveKind::kPermuteImplicit, {1, 1}, {1, 1}), "");
  EXPECT_EQ(error(CollectiveKind::kAllReduce, {4, 5}, {4, 6}),
            "'all_reduce' over 1 ranks in dimension 0: src h[4, 6] must have 1 times the elements "
            "of dst h[4, 5].");
  EXPECT_EQ(error(CollectiveKind::kAllGather, {8, 5}, {4, 5}),
            "'all_gather' over 3 ranks in dimension 0: dst h[8, 5] must have 3 times the elements "
            "of src h[4, 5].");
  EXPECT_EQ(error(CollectiveKind::kReduceScatter, {4, 5}, {13, 5}),
            "'reduce_scatter': dimension 0 of src h[13, 5] does not divide into the 3 ranks of a "
            "group.");
  EXPECT_EQ(error(CollectiveKind::kAllToAll, {4, 5}, {4, 5}),
            "'all_to_all': dimension 0 of src h[4, 5] does not divide into the 3 ranks of a "
            "group.");
}

TEST(Collective, GathersRowsOfTilesToo) {
  CollectiveBench bench;
  Collective gather{CollectiveKind::kAllGather, bench.sbuf({128, 8}), bench.sbuf({128, 2}),
                    groups({{0, 1, 2, 3}})};
  gather.dimension = 1;
  EXPECT_EQ(bench.error(gather), "");
  gather.dst = bench.sbuf({64, 16});
  EXPECT_EQ(bench.error(gather),
            "'all_gather' over 4 ranks in dimension 1: dst s[64, 16] must have 4 times the "
            "elements of src s[128, 2].");
  gather.dimension = 2;
  EXPECT_EQ(bench.error(gather),
            "'all_gather': collective_dim 2 of src s[128, 2] is not supported; expected 0 or 1.");
}

TEST(Collective, StaysInOneMemoryAndOneDtype) {
  CollectiveBench bench;
  const auto all = groups({{0, 1}});
  const auto error = [&](CollectiveKind kind, const View& dst, const View& src) {
    return bench.error({kind, dst, src, all});
  };
  const View hbm = bench.hbm({4, 4}), sbuf = bench.sbuf({4, 4}), psum = bench.psum({4, 4});
  EXPECT_EQ(error(CollectiveKind::kAllReduce, sbuf, bench.sbuf({4, 4})), "");
  EXPECT_EQ(error(CollectiveKind::kAllReduce, hbm, sbuf),
            "'all_reduce': all tensors must be on HBM or all must be on SBUF, but dst is in hbm "
            "and src in sbuf.");
  EXPECT_EQ(error(CollectiveKind::kAllToAll, hbm, sbuf),
            "Expected operand 'src' of 'all_to_all' to be in address space 'hbm', but got a tile "
            "in 'sbuf' instead.");
  EXPECT_EQ(error(CollectiveKind::kPermute, sbuf, hbm),
            "Expected operand 'dst' of 'collective_permute' to be in address space 'hbm', but got "
            "a tile in 'sbuf' instead.");
  EXPECT_EQ(error(CollectiveKind::kAllReduce, psum, psum),
            "Expected operand 'dst' of 'all_reduce' to be in address space 'hbm|sbuf', but "
            "got a tile in 'psum' instead.");
  EXPECT_EQ(error(CollectiveKind::kAllReduce, hbm, bench.hbm({4, 4}, Dtype::kBfloat16)),
            "'all_reduce' needs the same dtype, but dst is float32 and src is bfloat16.");
}

TEST(Collective, AddsAndComparesOnly) {
  CollectiveBench bench;
  Collective reduce{CollectiveKind::kAllReduce, bench.hbm({4}), bench.hbm({4}), groups({{0}})};
  for (const AluOp op : {AluOp::kAdd, AluOp::kMinimum, AluOp::kMaximum}) {
    reduce.op = op;
    EXPECT_EQ(bench.error(reduce), "");
  }
  reduce.op = AluOp::kMultiply;
  EXPECT_EQ(bench.error(reduce),
            "op multiply of 'all_reduce' is not supported; expected add, minimum or maximum.");
  reduce.kind = CollectiveKind::kPermuteImplicit;  // moves bits, whatever op says
  EXPECT_EQ(bench.error(reduce), "");
}

TEST(Collective, TakesListsOfOneLengthWhereSizesDependOnIt) {
  CollectiveBench bench;
  const auto uneven = groups({{0, 1}, {2}});
  EXPECT_EQ(bench.error({CollectiveKind::kAllReduce, bench.hbm({4}), bench.hbm({4}), uneven}), "");
  EXPECT_EQ(bench.error({CollectiveKind::kAllGather, bench.hbm({8}), bench.hbm({4}), uneven}),
            "'all_gather': the lists of replica group [[0, 1], [2]] must have the same number of "
            "ranks.");
}

TEST(Collective, NeedsMetadataOfItsRanks) {
  CollectiveBench bench;
  Collective exchange{CollectiveKind::kAllToAllV, bench.hbm({9}), bench.hbm({7}), groups({{0, 1}})};
  EXPECT_EQ(bench.error(exchange), "'all_to_all_v' needs a metadata_tensor.");
  exchange.metadata = bench.hbm({3, 2}, Dtype::kInt32);
  EXPECT_EQ(bench.error(exchange),
            "dtype int32 of operand 'metadata_tensor' of 'all_to_all_v' is not supported; expected "
            "uint32.");
  exchange.metadata = bench.hbm({3, 3}, Dtype::kUint32);
  EXPECT_EQ(bench.error(exchange),
            "operand 'metadata_tensor' of 'all_to_all_v' is h[3, 3], but must have 3 or 4 rows of "
            "2 counts in HBM or in one partition.");
  for (const auto& shape : {std::vector<int64_t>{3, 2}, std::vector<int64_t>{4, 2}}) {
    exchange.metadata = bench.hbm(shape, Dtype::kUint32);
    EXPECT_EQ(bench.error(exchange), "");
  }
}

TEST(Collective, KeepsItsGroupsInTheProgram) {
  CollectiveBench bench;
  EXPECT_EQ(
      bench.error({CollectiveKind::kAllReduce, bench.hbm({4}), bench.hbm({4}), groups({{1, 0}})}),
      "");
  const auto program = bench.finish();
  EXPECT_TRUE(program->has_collectives);
  ASSERT_EQ(program->replica_groups.size(), 1U);
  EXPECT_EQ(program->replica_groups[0]->groups, (Lists{{1, 0}}));
  EXPECT_EQ(program->instructions.back().engine, EngineKind::kGpSimd);
  EXPECT_NE(listing(*program).find("GpSimd all_reduce("), std::string::npos);
  EXPECT_NE(listing(*program).find(") over [[1, 0]]\n"), std::string::npos);
}

}  // namespace
}  // namespace neuron_sim
