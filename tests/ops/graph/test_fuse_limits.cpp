// Joined kernels: dtypes, domains, and how much one chain may hold.

#include "tests/ops/graph/graph_kernels.h"

namespace neuron_sim {
namespace {

const std::vector<int64_t> kShape{5, 8};

GraphTensor typed(size_t memory, Dtype dtype) { return tensor_in(memory, kShape, {}, 0, dtype); }

/// memory 2 = (memory 1 = memory 0 as `link` by `first`) as `result` by `second`.
std::vector<GraphKernel> chain_of_two(Dtype operand, Dtype link, Dtype result,
                                      const WriteExpression& first, const WriteExpression& second,
                                      Domain domain = Domain::kFloat) {
  return {pointwise(first, {typed(0, operand)}, typed(1, link), domain),
          pointwise(second, {typed(1, link)}, typed(2, result), domain)};
}

ElementValue same(Expression& e) { return e.input(0); }
ElementValue successor(Expression& e) { return e.input(0) + 1.0; }

size_t left(const std::vector<GraphKernel>& kernels) {
  return after("fuse_pointwise", kernels, is_in({0, 2})).size();
}

TEST(FuseDtypes, FloatingResultsOfAtLeast16BitsAreHandedOnAsValues) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto link = static_cast<Dtype>(i);
    const bool joins =
        link == Dtype::kFloat32 || link == Dtype::kBfloat16 || link == Dtype::kFloat16;
    EXPECT_EQ(left(chain_of_two(Dtype::kFloat32, link, Dtype::kFloat32, successor, successor)),
              joins ? 1U : 2U)
        << name(link);
  }
}

TEST(FuseDtypes, IntegersOf32BitsAreHandedOnInTheirOwnDomain) {
  for (const Dtype link :
       {Dtype::kInt32, Dtype::kInt16, Dtype::kInt8, Dtype::kUint8, Dtype::kBool, Dtype::kUint32}) {
    EXPECT_EQ(left(chain_of_two(Dtype::kInt32, link, Dtype::kInt32, successor, successor,
                                Domain::kInteger)),
              link == Dtype::kInt32 ? 1U : 2U)
        << name(link);
  }
}

TEST(FuseDtypes, KernelsOfTwoDomainsStayApart) {
  for (const Domain first : {Domain::kFloat, Domain::kInteger}) {
    const Domain second = first == Domain::kFloat ? Domain::kInteger : Domain::kFloat;
    for (const Dtype link : {Dtype::kFloat32, Dtype::kInt32}) {
      EXPECT_EQ(left({pointwise(successor, {typed(0, link)}, typed(1, link), first),
                      pointwise(successor, {typed(1, link)}, typed(2, link), second)}),
                2U);
    }
  }
}

/// Elements of memory 2 after a chain whose operand is 1.
std::vector<float> after_ones(const std::vector<GraphKernel>& kernels,
                              const GraphProgramOptions& options) {
  HostMemories memories(3, std::vector<std::byte>(40 * sizeof(float)));
  for (size_t i = 0; i < 40; ++i) {
    const float one = 1;
    std::memcpy(memories[0].data() + i * sizeof(one), &one, sizeof(one));
  }
  run_graph(built_graph(kernels, {0, 2}, options), memories);
  return floats(memories[2]);
}

TEST(FuseDtypes, AChainGoesOnWithWhatBfloat16WouldRound) {
  const auto kernels = chain_of_two(
      Dtype::kFloat32, Dtype::kBfloat16, Dtype::kFloat32,
      [](Expression& e) { return e.input(0) + 0x1p-10; },
      [](Expression& e) { return (e.input(0) - 1.0) * 1024.0; });
  EXPECT_EQ(after_ones(kernels, {}), std::vector<float>(40, 1.0F));
  EXPECT_EQ(after_ones(kernels, plain()), std::vector<float>(40, 0.0F));
}

/// Bits of memory 2 for int32 operands.
std::vector<std::byte> after_integers(const std::vector<GraphKernel>& kernels,
                                      const GraphProgramOptions& options) {
  HostMemories memories(3, std::vector<std::byte>(40 * sizeof(int32_t)));
  for (int32_t i = 0; i < 40; ++i) {
    const int32_t value = (i % 2 == 0 ? 1 : -1) * ((1 << 24) + 1 + i * 1001);
    std::memcpy(memories[0].data() + static_cast<size_t>(i) * 4, &value, 4);
  }
  run_graph(built_graph(kernels, {0, 2}, options), memories);
  return memories[2];
}

TEST(FuseDtypes, IntegersThatFp32RoundsAreRoundedInAChainToo) {
  for (const Dtype result : {Dtype::kInt32, Dtype::kFloat32, Dtype::kInt16, Dtype::kUint32}) {
    for (const WriteExpression& second : {WriteExpression(same), WriteExpression(successor)}) {
      for (const WriteExpression& first :
           {WriteExpression(same),
            WriteExpression([](Expression& e) { return e.input(0) + e.input(0); })}) {
        const auto kernels = chain_of_two(Dtype::kInt32, Dtype::kFloat32, result, first, second);
        EXPECT_EQ(after_integers(kernels, {}), after_integers(kernels, plain())) << name(result);
      }
    }
  }
}

TEST(FuseDtypes, IntegersWrapInAChainAsTheyDoOneByOne) {
  for (const Dtype result : {Dtype::kInt32, Dtype::kInt16, Dtype::kInt8, Dtype::kFloat32}) {
    const auto kernels = chain_of_two(
        Dtype::kInt32, Dtype::kInt32, result, [](Expression& e) { return e.input(0) * 16777619.0; },
        [](Expression& e) { return e.input(0) * e.input(0) - 3.0; }, Domain::kInteger);
    EXPECT_EQ(left(kernels), 1U);
    EXPECT_EQ(after_integers(kernels, {}), after_integers(kernels, plain())) << name(result);
  }
}

GraphTensor whole(size_t memory) { return tensor_in(memory, kShape); }

TEST(FuseLimits, AChainEndsAtTheNumberOfSteps) {
  // An operand, and a constant and a sum for each kernel.
  const auto sums = [](size_t count) {
    std::vector<GraphKernel> kernels;
    for (size_t i = 0; i < count; ++i) {
      kernels.push_back(
          pointwise([&](Expression& e) { return e.input(0) + (1.0 + static_cast<double>(i)); },
                    {whole(i)}, whole(i + 1)));
    }
    return after("fuse_pointwise", kernels, is_in({0, count}));
  };
  const size_t most = (kMaximumJoinedSteps - 1) / 2;
  EXPECT_EQ(sums(most).size(), 1U);
  EXPECT_EQ(sums(most + 1).size(), 2U);
  EXPECT_EQ(sums(2 * most).size(), 2U);
  EXPECT_LE(sums(2 * most)[0].traits.as<Expression>()->steps().size(), kMaximumJoinedSteps);
}

TEST(FuseLimits, AChainEndsAtTheNumberOfOperands) {
  const auto sums = [](size_t operands) {
    std::vector<GraphKernel> kernels;
    for (size_t i = 1; i < operands; ++i) {  // memory 100 + i: the sum so far
      kernels.push_back(pointwise([](Expression& e) { return e.input(0) + e.input(1); },
                                  {whole(i == 1 ? 0 : 99 + i), whole(i)}, whole(100 + i)));
    }
    return after("fuse_pointwise", kernels, is_in({99 + operands})).size();
  };
  EXPECT_EQ(sums(kMaximumJoinedOperands), 1U);
  EXPECT_EQ(sums(kMaximumJoinedOperands + 1), 2U);
}

TEST(FuseLimits, AChainEndsAtTheNumberOfResults) {
  const auto stored = [](size_t results) {
    std::vector<GraphKernel> kernels;
    for (size_t i = 0; i < results; ++i) {
      kernels.push_back(pointwise(successor, {whole(i)}, whole(i + 1)));
    }
    return after("fuse_pointwise", kernels, [](size_t) { return true; }).size();
  };
  EXPECT_EQ(stored(kMaximumJoinedResults), 1U);
  EXPECT_EQ(stored(kMaximumJoinedResults + 1), 2U);
}

/// As much as a chain may hold: all operands, products of them that are all alive at a time, and
/// sums of those as results.
Expression largest() {
  Expression e;
  std::vector<ElementValue> values;
  const auto operands = static_cast<int>(kMaximumJoinedOperands);
  const size_t results = kMaximumJoinedResults;
  const size_t products = (kMaximumJoinedSteps - kMaximumJoinedOperands + results) / 2;
  for (int i = 0; i < operands; ++i) e.input(i);
  for (int by = 0; values.size() < products; ++by) {
    for (int i = 0; i < operands && values.size() < products; ++i) {
      values.push_back(e.input(i) * e.input((i + by) % operands));
    }
  }
  for (size_t r = 0; r < results; ++r) {
    ElementValue sum = values[r];
    for (size_t i = r + results; i < values.size(); i += results) sum = sum + values[i];
    e.add_result(sum);
  }
  EXPECT_EQ(e.steps().size(), kMaximumJoinedSteps);
  return e;
}

TEST(FuseLimits, TheLargestChainFitsSbuf) {
  const std::vector<int64_t> shape{130, 300};
  std::vector<GraphTensor> operands, results;
  External external;
  for (size_t i = 0; i < kMaximumJoinedOperands; ++i) operands.push_back(tensor_in(i, shape));
  for (size_t i = 0; i < kMaximumJoinedResults; ++i) {
    results.push_back(tensor_in(kMaximumJoinedOperands + i, shape));
    external.insert(results.back().memory);
  }
  for (size_t i = 0; i < kMaximumJoinedOperands; ++i) external.insert(i);
  const std::vector<GraphKernel> kernels{kernel_of(largest(), operands, results)};
  const HostMemories before = random_memories(std::vector<int64_t>(external.size(), 130 * 300));
  HostMemories expected = before;
  evaluate(kernels, expected);
  for (const char* architecture : {"trn1", "trn2", "trn3"}) {
    const GraphProgram built = built_graph(kernels, external, {}, architecture);
    EXPECT_EQ(built.unchanged, "") << architecture;
    HostMemories actual = before;
    run_graph(built, actual);
    EXPECT_EQ(actual, expected) << architecture;
  }
}

}  // namespace
}  // namespace neuron_sim
