#include "ops/attention/attention.h"

#include "device/timeline/timeline.h"
#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

struct Case {
  int64_t heads, key_heads, queries, keys, depth, width;
  bool causal = false, biased = false;
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> k_strides{};
  bool sums = true;  ///< whether the logarithms of the sums are a result
  std::vector<int64_t> q_strides{};
};

struct Specs {
  TensorSpec q, k, v, bias, out, sums;
};

Specs specs_of(const Case& c) {
  const int64_t members = c.heads / c.key_heads;
  return {{{1, c.key_heads, members, c.queries, c.depth}, c.q_strides, c.dtype},
          {{1, c.key_heads, 1, c.keys, c.depth}, c.k_strides, c.dtype},
          {{1, c.key_heads, 1, c.keys, c.width}, {}, c.dtype},
          {{1, c.key_heads, members, c.queries, c.keys}, {}, c.dtype},
          {{1, c.key_heads, members, c.queries, c.width}, {}, c.dtype},
          {{1, c.key_heads, members, c.queries}, {}, Dtype::kFloat32}};
}

BuiltOp build(const Case& c) {
  const Specs specs = specs_of(c);
  Builder builder("attention", load_architecture("trn2"));
  std::vector<HbmTensor> operands{argument_tensor(builder, "q", specs.q),
                                  argument_tensor(builder, "k", specs.k),
                                  argument_tensor(builder, "v", specs.v)};
  if (c.biased) operands.push_back(argument_tensor(builder, "bias", specs.bias));
  const HbmTensor out = argument_tensor(builder, "out", specs.out);
  std::vector<HbmTensor> results{out};
  if (c.sums) results.push_back(argument_tensor(builder, "log_sums", specs.sums));
  emit_attention(builder, operands, results, {0.25, c.causal});
  BuiltOp built;
  built.output = specs.out;
  if (c.sums) built.further_outputs = {specs.sums};
  built.program = builder.finish();
  return built;
}

void check(const Case& c) {
  const Specs specs = specs_of(c);
  HostTensor q(specs.q, random_values(specs.q.elements(), -2, 2, 1));
  HostTensor k(specs.k, random_values(specs.k.elements(), -2, 2, 2));
  HostTensor v(specs.v, random_values(specs.v.elements(), -2, 2, 3));
  HostTensor bias(specs.bias, random_values(specs.bias.elements(), -2, 2, 4));
  std::vector<HostTensor*> inputs{&q, &k, &v};
  if (c.biased) inputs.push_back(&bias);
  std::vector<HostTensor> actual = run_outputs(build(c), inputs);
  const std::vector<double> qs = q.values(), ks = k.values(), vs = v.values(), bs = bias.values();
  std::vector<double> expected, log_sums;
  for (int64_t row = 0; row < c.heads * c.queries; ++row) {
    const int64_t head = row / c.queries, key_head = head / (c.heads / c.key_heads);
    std::vector<double> weights;
    double total = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      double score = 0;
      for (int64_t d = 0; d < c.depth; ++d) {
        score += qs[static_cast<size_t>(row * c.depth + d)] *
                 ks[static_cast<size_t>((key_head * c.keys + j) * c.depth + d)];
      }
      score = 0.25 * score + (c.biased ? bs[static_cast<size_t>(row * c.keys + j)] : 0);
      weights.push_back(c.causal && j > row % c.queries ? 0 : std::exp(score));
      total += weights.back();
    }
    log_sums.push_back(std::log(total));
    for (int64_t x = 0; x < c.width; ++x) {
      double sum = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        sum += weights[static_cast<size_t>(j)] *
               vs[static_cast<size_t>((key_head * c.keys + j) * c.width + x)];
      }
      expected.push_back(sum / total);
    }
  }
  expect_close(actual[0].values(), expected, 3 * unit_of(c.dtype));
  if (c.sums) expect_close(actual[1].values(), log_sums, 4e-6);
}

TEST(Attention, OfOddSizesIsThatOfFloat64) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    check({3, 3, 37, 45, 16, 24, false, false, dtype});
  }
  check({1, 1, 1, 1, 1, 1});
}

TEST(Attention, WithMoreKeysAndRowsThanATileStreams) {
  check({1, 1, 131, 1030, 8, 8});
  check({1, 1, 5, 7, 200, 300});
}

TEST(Attention, LeavesOutKeysBeyondTheDiagonal) {
  check({2, 2, 140, 140, 8, 8, true});
  check({1, 1, 600, 590, 4, 4, true});
  check({1, 1, 20, 700, 4, 4, true});
}

TEST(Attention, AddsABiasAndSharesKeyHeads) {
  Case c{6, 2, 19, 23, 8, 5, false, true};
  check(c);
  c.dtype = Dtype::kBfloat16;
  check(c);
}

TEST(Attention, ReadsKeysOfAnyStrides) {
  Case c{1, 1, 40, 60, 16, 8};
  c.k_strides = {960, 960, 960, 1, 60};
  check(c);
}

/// Strides of heads whose rows lie transposed below each other.
std::vector<int64_t> transposed_strides(int64_t length, int64_t width) {
  return {0, width * length, width * length, 1, length};
}

TEST(Attention, ReadsHeadsThatLieTransposedBelowEachOther) {
  const auto check_case = [](int64_t heads, int64_t depth, bool queries, bool keys) {
    SCOPED_TRACE(text(heads, " heads of ", depth));
    Case c{heads, heads, 140, 150, depth, 24};
    if (queries) c.q_strides = transposed_strides(c.queries, depth);
    if (keys) c.k_strides = transposed_strides(c.keys, depth);
    check(c);
    c.dtype = Dtype::kBfloat16;
    check(c);
  };
  check_case(6, 64, true, true);
  check_case(4, 32, true, true);
  check_case(4, 64, false, true);  // the others on their partitions
  check_case(4, 64, true, false);
  check_case(3, 64, true, true);  // half a tile is left
  check_case(2, 48, true, true);  // not a part of the partitions
  check_case(8, 16, true, true);  // engines start at every 32nd partition
}

TEST(Attention, OfHeadsThatLieTransposedBelowEachOtherTransposesNoOperand) {
  const auto time = [](bool transposed) {
    Case c{12, 12, 128, 128, 64, 64, false, false, Dtype::kBfloat16, {}, false};
    if (transposed) c.q_strides = c.k_strides = transposed_strides(128, 64);
    return simulate(*build(c).program).body.nanoseconds();
  };
  EXPECT_LT(time(true), time(false));
}

TEST(Attention, OfFewRowsStoresTheSumsOnlyWhereTheyAreGiven) {
  for (const bool sums : {true, false}) {
    check({4, 2, 1, 384, 16, 24, false, true, Dtype::kFloat32, {}, sums});
    check({1, 1, 8, 256, 128, 8, false, false, Dtype::kBfloat16, {}, sums});
    check({1, 1, 9, 256, 16, 8, false, false, Dtype::kFloat32, {}, sums});  // as of many rows
  }
}

TEST(Attention, OfFewRowsTakesKeysThatDoNotFitSbufInPieces) {
  // 40 tiles of 128 fp32 keys are resident, 80 of bf16 ones; pieces of 22 and 21, and of 41.
  check({2, 1, 1, 43 * 128, 128, 128, false, true});
  check({1, 1, 1, 82 * 128, 128, 128, false, false, Dtype::kBfloat16});
}

TEST(Attention, OfFewRowsTakesTimeInProportionToTheKeys) {
  const auto time = [](int64_t tiles) {
    const Case c{8, 4, 1, tiles * 128, 128, 128, false, false, Dtype::kBfloat16, {}, false};
    return simulate(*build(c).program).body.nanoseconds();
  };
  EXPECT_NEAR(time(160) / time(80), 2, 0.3);
}

TEST(Attention, TakesValuesOfAPsumBankAndRefusesWiderOnes) {
  check({1, 1, 3, 4, 2, 512});
  EXPECT_EQ(error_of([] {
              build({1, 1, 3, 4, 2, 513});
            }),
            "attention: values of 513 elements exceed the 512 of a PSUM bank on trn2.");
}

}  // namespace
}  // namespace neuron_sim
