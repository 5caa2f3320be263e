#include "device/isa/elementwise/affine_select.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

bool holds(AluOp op, int64_t value) {
  switch (op) {
    case AluOp::kEqual: return value == 0;
    case AluOp::kNotEqual: return value != 0;
    case AluOp::kGreaterEqual: return value >= 0;
    case AluOp::kGreater: return value > 0;
    case AluOp::kLessEqual: return value <= 0;
    default: return value < 0;
  }
}

TEST(AffineSelect, FollowsEveryComparisonOfItsPattern) {
  for (const AluOp op : {AluOp::kEqual, AluOp::kNotEqual, AluOp::kGreaterEqual, AluOp::kGreater,
                         AluOp::kLessEqual, AluOp::kLess}) {
    InstructionBench bench;
    const View data = bench.tile(kSbuf, kFp32, {5, 2, 3, 2, 2}, "data", random_values(120));
    const AffineSelect select{.dst = bench.tile(kSbuf, kFp32, {5, 24}, "dst"),
                              .pattern = {{4, 2}, {-3, 3}, {2, 2}, {1, 2}},
                              .channel_multiplier = -2,
                              .on_true_tile = data,
                              .on_false_value = -7.25,
                              .cmp_op = op,
                              .offset = 3};
    bench.run(select);
    const std::vector<double> x = bench.get(data);
    std::vector<double> expected;
    for (int p = 0; p < 5; ++p)
      for (int w = 0; w < 2; ++w)
        for (int z = 0; z < 3; ++z)
          for (int y = 0; y < 2; ++y)
            for (int k = 0; k < 2; ++k) {
              const bool taken = holds(op, 3 - 2 * p + 4 * w - 3 * z + 2 * y + k);
              expected.push_back(taken ? x[expected.size()] : -7.25);
            }
    SCOPED_TRACE(std::string(name(op)));
    expect_values(bench.get(select.dst), expected);
  }
}

TEST(AffineSelect, MakesACausalMaskOverAccessPatterns) {
  for (const Pattern source : source_patterns()) {
    for (const Pattern target : target_patterns()) {
      InstructionBench bench;
      const View data = pattern_view(bench, source, kBf16, "data");
      const std::vector<double> x = fill_random(bench, data, 3);
      const AffineSelect select{.dst = pattern_view(bench, target, kFp32, "dst"),
                                .pattern = {{-1, 24}},
                                .channel_multiplier = 8,
                                .on_true_tile = data,
                                .on_false_value = -INFINITY,
                                .cmp_op = AluOp::kGreaterEqual};
      bench.run(select);
      std::vector<double> expected;
      for (size_t p = 0; p < 3; ++p) {
        for (size_t i = 0; i < 24; ++i) {
          expected.push_back(i <= 8 * p ? x[p * 24 + i] : -INFINITY);
        }
      }
      expect_values(bench.get(select.dst), expected);
    }
  }
}

TEST(AffineSelect, ConvertsBetweenAllDtypesThroughFp32) {
  for (const Dtype from : all_dtypes()) {
    for (const Dtype to : all_dtypes()) {
      InstructionBench bench;
      const View data = bench.tile(kSbuf, from, {1, 4}, "data", {0, 1, 1, 0});
      const AffineSelect select{.dst = bench.tile(kSbuf, to, {1, 4}, "dst"),
                                .pattern = {{1, 4}},
                                .on_true_tile = data,
                                .on_false_value = 300.3,
                                .cmp_op = AluOp::kLess,
                                .offset = -3};
      bench.run(select);
      SCOPED_TRACE(text(name(from), " to ", name(to)));
      expect_values(bench.get(select.dst), {0, 1, 1, stored(to, 300.3)});
    }
  }
}

TEST(AffineSelect, KeepsLargeIntegersOfOneDtypeAndNan) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, Dtype::kInt32, {1, 2}, "data", {2147483647, 16777217});
  AffineSelect select{.dst = data, .pattern = {{0, 2}}, .on_true_tile = data, .on_false_value = 1};
  bench.run(select);
  expect_values(bench.get(data), {2147483647, 16777217});
  const View floats = bench.tile(kSbuf, kFp32, {1, 2}, "floats", {NAN, -0.0});
  select.dst = select.on_true_tile = floats;
  bench.run(select);
  expect_values(bench.get(floats), {NAN, -0.0});
}

TEST(AffineSelect, IndicesWrapAt32Bits) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {1, 2}, "data", {5, 6});
  AffineSelect select{.dst = data,
                      .pattern = {{1, 2}},
                      .on_true_tile = data,
                      .on_false_value = 1,
                      .cmp_op = AluOp::kGreater,
                      .offset = 2147483647};
  bench.run(select);
  expect_values(bench.get(data), {5, 1});
}

TEST(AffineSelect, ChecksOperatorPatternEngineAndMemory) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {2, 6}, "data");
  const auto error = [&](const AffineSelect& select) { return bench.error(select); };
  AffineSelect select{.dst = data, .pattern = {{1, 6}}, .on_true_tile = data};
  EXPECT_EQ(error(select), "");
  for (const AluOp op : {AluOp::kAdd, AluOp::kMinimum, AluOp::kLogicalAnd}) {
    select.cmp_op = op;
    EXPECT_EQ(error(select),
              text("cmp_op '", name(op),
                   "' of 'affine_select' is not supported; expected one of: equal, not_equal, "
                   "greater_equal, greater, less_equal, less."));
  }
  select.cmp_op = AluOp::kEqual;
  select.pattern = {{1, 5}};
  EXPECT_EQ(error(select),
            "pattern of 'affine_select' has 5 elements, but operand 'dst' has 6 per partition: "
            "data[2, 6].");
  select.pattern = {{1, 6}};
  select.engine = EngineKind::kVector;
  EXPECT_EQ(error(select),
            "instruction 'affine_select' cannot run on the Vector engine; architecture trn2 has it "
            "on: GpSimd.");
  select.engine = EngineKind::kAuto;
  select.on_true_tile = bench.tile(kPsum, kFp32, {2, 6}, "psum");
  EXPECT_EQ(error(select),
            "Expected operand 'on_true_tile' of 'affine_select' to be in address space 'sbuf', but "
            "got a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
  select.on_true_tile = bench.tile(kSbuf, kFp32, {3, 6}, "more");
  EXPECT_EQ(error(select),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (dst[2, 6], "
            "on_true_tile[3, 6]) of 'affine_select'");
}

TEST(AffineSelect, DemandsGpsimdWork) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {2, 6}, "data");
  const AffineSelect select{.dst = data, .pattern = {{1, 6}}, .on_true_tile = data};
  const Step step = bench.demand(select).steps[0];
  EXPECT_EQ(step.rate, RateClass::kGpSimdOneInput);
  EXPECT_EQ(step.elements, 6);
}

}  // namespace
}  // namespace neuron_sim
