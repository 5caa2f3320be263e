#include "device/isa/activation/exponential.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

Architecture trn3() { return load_architecture("trn3"); }

/// exp of the rounded difference, in float64.
double exact(double x, double maximum) { return std::exp(round_to(kFp32, x - maximum)); }

TEST(Exponential, SubtractsAndExponentiatesOverAccessPatterns) {
  for (const Pattern source : source_patterns()) {
    for (const Pattern target : target_patterns()) {
      if (source == Pattern::kGaps || target == Pattern::kGaps) continue;  // four free dimensions
      InstructionBench bench(trn3());
      const View src = pattern_view(bench, source, kBf16, "src", kPsum);
      const std::vector<double> x = fill_random(bench, src, 2);
      const View maxima = bench.tile(kSbuf, kFp32, {3, 1}, "maxima", {0.1, 4, -2.5});
      const View dst = pattern_view(bench, target, kFp32, "dst");
      bench.run(Exponential{.dst = dst, .src = src, .max_value_tile = maxima});
      const std::vector<double> y = bench.get(dst), m = bench.get(maxima);
      for (size_t i = 0; i < y.size(); ++i) {
        const double expected = exact(x[i], m[i / 24]);
        ASSERT_NEAR(y[i], expected, expected * 0.51 * 0x1p-23);
      }
    }
  }
}

TEST(Exponential, RoundsOnceToTheDtypeOfDst) {
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == Dtype::kBool || dtype == Dtype::kUint32) continue;
    InstructionBench bench(trn3());
    const View src = bench.tile(kSbuf, kFp32, {1, 4}, "src", {1, 2, NAN, -INFINITY});
    const View dst = bench.tile(kSbuf, dtype, {1, 4}, "dst");
    bench.run(Exponential{.dst = dst, .src = src, .max_value = 1});
    SCOPED_TRACE(std::string(name(dtype)));
    expect_values(bench.get(dst), {1, stored(dtype, std::exp(1.0)), is_float(dtype) ? NAN : 0, 0});
  }
}

TEST(Exponential, KeepsARunningSumInTheAccumulatorOfTheVectorEngine) {
  InstructionBench bench(trn3());
  const View src = bench.tile(kSbuf, kFp32, {2, 37}, "src", random_values(74));
  const View sums = bench.tile(kPsum, kFp32, {2, 1}, "sums");
  const View registers = engine_state(EngineState::kVectorAccumulator, 2);
  Exponential instruction{.dst = bench.tile(kSbuf, kBf16, {2, 37}, "dst"),
                          .src = src,
                          .reduce_res = sums,
                          .reduce_command = ReduceCommand::kResetReduce};
  const std::vector<double> x = bench.get(src);
  std::vector<double> row(2, 0);
  for (size_t i = 0; i < 74; ++i) row[i / 37] += std::exp(x[i]);
  const auto expect_sums = [&](double times, double plus) {
    bench.run(instruction);
    const std::vector<double> actual = bench.get(sums);
    for (size_t p = 0; p < 2; ++p) {
      const double expected = times * row[p] + plus;
      EXPECT_NEAR(actual[p], expected, 1e-6 * expected);
    }
    EXPECT_EQ(bench.get(registers), actual);
  };
  bench.set(registers, {9, 9});
  expect_sums(1, 0);
  instruction.reduce_command = ReduceCommand::kReduce;
  expect_sums(2, 0);
  instruction.reduce_command = ReduceCommand::kIdle;
  expect_sums(2, 0);
  instruction.reduce_command = ReduceCommand::kLoadReduce;
  instruction.reduce_init = 100;
  expect_sums(1, 100);
  instruction.reduce_init = 0;
  instruction.reduce_init_tile = bench.tile(kSbuf, kFp32, {2, 1}, "init", {50, 50});
  expect_sums(1, 50);
}

TEST(Exponential, ChecksGenerationRankDtypesAndReduction) {
  InstructionBench bench(trn3());
  const auto error = [&](const Exponential& instruction) { return bench.error(instruction); };
  const View src = bench.tile(kSbuf, kFp32, {2, 1, 1, 4}, "src");
  const View dst = bench.tile(kSbuf, kFp32, {2, 4}, "dst");
  const View column = bench.tile(kSbuf, kFp32, {2, 1}, "column");
  EXPECT_EQ(error({.dst = dst, .src = src}), "");
  EXPECT_EQ(error({.dst = dst, .src = src.expand(1)}),
            "parameter 'src' of 'exponential', src[2, 1, 1, 1, 4], exceed max supported number of "
            "dimensions of 4.");
  EXPECT_EQ(error({.dst = src.expand(1), .src = src}),
            "parameter 'dst' of 'exponential', src[2, 1, 1, 1, 4], exceed max supported number of "
            "dimensions of 4.");
  for (const Dtype dtype : {Dtype::kBool, Dtype::kTfloat32}) {
    EXPECT_EQ(error({.dst = dst, .src = bench.tile(kSbuf, dtype, {2, 4}, "src")}),
              text("dtype ", name(dtype), " of operand 'src' of 'exponential' is not supported; ",
                   "expected any dtype but bool_ and tfloat32."));
  }
  for (const Dtype dtype : {Dtype::kBool, Dtype::kUint32}) {
    EXPECT_EQ(error({.dst = bench.tile(kSbuf, dtype, {2, 4}, "dst"), .src = src}),
              text("dtype ", name(dtype), " of operand 'dst' of 'exponential' is not supported; ",
                   "expected any dtype but bool_ and uint32."));
  }
  EXPECT_EQ(error({.dst = dst, .src = src, .reduce_command = ReduceCommand::kReset}),
            "reduce_cmd 'reset' of 'exponential' is not supported; expected one of: idle, "
            "reset_reduce, reduce, load_reduce.");
  EXPECT_EQ(
      error({.dst = dst, .src = src, .reduce_command = ReduceCommand::kReduce, .reduce_init = 1}),
      "operand 'reduce_init' of 'exponential' is given, but reduce_cmd is 'reduce'; only "
      "'load_reduce' loads it.");
  EXPECT_EQ(error({.dst = dst, .src = src, .reduce_res = dst}),
            "operand 'reduce_res[2, 4]' of 'exponential' must have one element per partition, but "
            "it has 4.");
  EXPECT_EQ(error({.dst = dst, .src = src, .max_value_tile = column, .reduce_res = column}), "");
  EXPECT_EQ(error({.dst = dst, .src = src, .engine = EngineKind::kScalar}),
            "instruction 'exponential' cannot run on the Scalar engine; architecture trn3 has it "
            "on: Vector.");
  InstructionBench older;
  EXPECT_EQ(older.error(Exponential{.dst = older.tile(kSbuf, kFp32, {1, 1}, "dst"),
                                    .src = older.tile(kSbuf, kFp32, {1, 1}, "src")}),
            "instruction 'exponential' needs NeuronCore-v4 or newer; architecture trn2 is a "
            "NeuronCore-v3.");
}

TEST(Exponential, DemandsAQuarterOfACyclePerElement) {
  InstructionBench bench(trn3());
  EXPECT_EQ(bench.architecture().rates[RateClass::kExponential], 0.25);
  const View src = bench.tile(kPsum, kFp32, {2, 40}, "src");
  Exponential instruction{.dst = bench.tile(kSbuf, kFp32, {2, 40}, "dst"), .src = src};
  Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kExponential);
  EXPECT_EQ(step.elements, 40);
  EXPECT_EQ(step.table, -1) << "the Vector engine has no tables";
  EXPECT_TRUE(step.source_psum);
  EXPECT_FALSE(step.pointer_operand || step.reads_accumulator);
  instruction.reduce_res = instruction.max_value_tile = bench.tile(kSbuf, kFp32, {2, 1}, "column");
  step = bench.demand(instruction).steps[0];
  EXPECT_TRUE(step.pointer_operand && step.reads_accumulator);
}

}  // namespace
}  // namespace neuron_sim
