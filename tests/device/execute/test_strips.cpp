#include "device/execute/strips.h"

#include <random>

#include "device/builder/builder.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy_predicated.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

constexpr int64_t kWidth = 1000;  // a strip of it has four partitions

/// Instances per node of a program, whose bytes are those of its interpretation.
std::vector<size_t> node_sizes(const std::shared_ptr<const Program>& program) {
  const ExecutionPlan plan = make_plan(*program);
  EXPECT_TRUE(is_like_interpretation(program, plan, 5, 2));
  EXPECT_TRUE(is_like_interpretation(program, plan, 5, 1));
  std::vector<size_t> sizes;
  for (size_t i = 0; i < plan.graph.nodes(); ++i) sizes.push_back(plan.graph.node(i).size());
  return sizes;
}

struct Chain {
  explicit Chain(int64_t partitions, int64_t columns = kWidth)
      : input(builder.argument("input", {partitions, columns}, Dtype::kFloat32)),
        output(builder.argument("output", {partitions, columns}, Dtype::kFloat32)),
        a(builder.sbuf("a", {partitions, columns}, Dtype::kFloat32)),
        b(builder.sbuf("b", {partitions, columns}, Dtype::kFloat32)) {
    builder.emit(DmaCopy{.dst = a, .src = input});
    builder.emit(Memset{.dst = b, .value = 2});  // joins no other: a reduction reads b
    builder.emit(TensorReduce{.dst = a.slice(1, 0, 1), .data = b});
  }
  void add(const View& dst, const View& data1, const View& data2) {
    builder.emit(TensorTensor{.dst = dst, .data1 = data1, .data2 = data2, .op = AluOp::kAdd});
  }
  std::vector<size_t> sizes() {
    builder.emit(DmaCopy{.dst = output, .src = b});
    return node_sizes(builder.finish());
  }

  Builder builder{"chain", load_architecture("trn2")};
  View input, output, a, b;
};

TEST(Strips, ElementWiseNeighboursOnMorePartitionsThanAStripFormANode) {
  for (const int64_t partitions : {4, 5, 127, 128}) {
    Chain chain(partitions);
    chain.add(chain.b, chain.a, chain.b);
    const View flags = chain.builder.sbuf("flags", {partitions, kWidth}, Dtype::kUint8);
    chain.builder.emit(
        TensorScalar{.dst = flags, .data = chain.b, .op0 = AluOp::kGreater, .constant0 = 2.5});
    chain.builder.emit(TensorCopyPredicated{.dst = chain.b, .src = chain.a, .predicate = flags});
    const std::vector<size_t> sizes = chain.sizes();
    const bool joined = std::find(sizes.begin(), sizes.end(), 3U) != sizes.end();
    EXPECT_EQ(joined, partitions > 4) << partitions;
  }
}

TEST(Strips, OperandsOfOtherPartitionsEndANode) {
  Chain chain(64);
  chain.add(chain.b, chain.a, chain.b);
  chain.add(chain.b.slice(0, 32, 32), chain.b.slice(0, 0, 32), chain.b.slice(0, 0, 32));
  chain.add(chain.b, chain.a, chain.b);
  for (const size_t size : chain.sizes()) EXPECT_EQ(size, 1U);
}

TEST(Strips, IterationsAreNodesOfTheirOwn) {
  Chain chain(128);
  chain.builder.loop(3, [&](const Affine&) {
    chain.add(chain.b, chain.a, chain.b);
    chain.add(chain.a, chain.a, chain.b);
  });
  const std::vector<size_t> sizes = chain.sizes();
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 2U), 3);
}

TEST(Strips, RandomChainsComputeTheBytesOfAnInterpretation) {
  size_t joined = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](int64_t end) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
    };
    Chain chain(64, 900);
    const View low = chain.builder.sbuf("low", {64, 900}, Dtype::kBfloat16);
    const View tiles[] = {chain.a, chain.b, low};
    for (int i = 0; i < 20; ++i) {
      const int64_t start = 32 * below(2), count = below(4) == 0 ? 32 : 64 - start;
      const int64_t width = below(3) == 0 ? 450 : 900;
      const auto tile = [&](int64_t first) {
        return tiles[below(3)]
            .slice(0, first, count)
            .slice(1, 450 * below(1 + (width < 900)), width);
      };
      const View dst = tile(start);
      chain.add(dst, tile(start), tile(below(5) == 0 ? 64 - count : start));
    }
    for (const size_t size : chain.sizes()) joined += size > 1 ? size : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(joined, 150U);
}

}  // namespace
}  // namespace neuron_sim
