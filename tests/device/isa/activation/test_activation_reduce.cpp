#include "device/isa/activation/activation_reduce.h"

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

TEST(ActivationReduce, GivesResultsAndTheirSumsOverAccessPatterns) {
  for (const Pattern source : source_patterns()) {
    for (const Pattern target : target_patterns()) {
      InstructionBench bench;
      const View data = pattern_view(bench, source, kBf16, "data", kPsum);
      bench.set(data, fill_random(bench, data, 7));
      const ActivationReduce instruction{.dst = pattern_view(bench, target, kFp32, "dst"),
                                         .data = data,
                                         .op = Activation::kSquare,
                                         .reduce_res = bench.tile(kSbuf, kFp32, {3, 1}, "sums"),
                                         .scale = 0.5};
      const View registers = engine_state(EngineState::kScalarAccumulator, 3);
      bench.set(registers, {9, 9, 9});
      bench.run(instruction);
      const std::vector<double> x = bench.get(data), y = bench.get(instruction.dst);
      const std::vector<double> sums = bench.get(instruction.reduce_res);
      for (size_t p = 0; p < 3; ++p) {
        double sum = 0;
        for (size_t i = p * 24; i < (p + 1) * 24; ++i) {
          EXPECT_EQ(y[i], round_to(kFp32, x[i] * 0.5 * x[i] * 0.5));
          sum += y[i];
        }
        EXPECT_NEAR(sums[p], sum, 1e-5 * sum);
      }
      expect_values(bench.get(registers), sums);
    }
  }
}

TEST(ActivationReduce, SumsBeforeRoundingToDstAndRoundsSumsToAnyDtype) {
  for (const Dtype dtype : all_dtypes()) {
    InstructionBench bench;
    const View data = bench.tile(kSbuf, kFp32, {1, 4}, "data", {0.25, 0.25, 2.125, 100});
    const View sums = bench.tile(kPsum, dtype, {1, 1}, "sums");
    const ActivationReduce instruction{
        .dst = bench.tile(kSbuf, Dtype::kInt8, {1, 4}, "dst"), .data = data, .reduce_res = sums};
    bench.run(instruction);
    expect_values(bench.get(instruction.dst), {0, 0, 2, 100});
    expect_values(bench.get(sums), {stored(dtype, 102.625)});
  }
}

TEST(ActivationReduce, SumsOfNanAndInfinitiesFollowIeee) {
  InstructionBench bench;
  const View data =
      bench.tile(kSbuf, kFp32, {3, 2}, "data", {NAN, 1, INFINITY, 1, INFINITY, -INFINITY});
  const View sums = bench.tile(kSbuf, kFp32, {3, 1}, "sums");
  bench.run(ActivationReduce{.dst = data, .data = data, .reduce_res = sums});
  expect_values(bench.get(sums), {NAN, INFINITY, NAN});
}

TEST(ActivationReduce, NeedsAColumnAndAddition) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {8, 4}, "data");
  const auto error = [&](const ActivationReduce& instruction) { return bench.error(instruction); };
  ActivationReduce instruction{
      .dst = data, .data = data, .reduce_res = bench.tile(kSbuf, kFp32, {8, 1}, "sums")};
  EXPECT_EQ(error(instruction), "");
  instruction.reduce_op = AluOp::kMaximum;
  EXPECT_EQ(error(instruction),
            "reduce_op 'maximum' of 'activation_reduce' is not supported; only 'add' is.");
  instruction.reduce_op = AluOp::kAdd;
  instruction.reduce_res = data;
  EXPECT_EQ(error(instruction),
            "operand 'reduce_res[8, 4]' of 'activation_reduce' must have one element per "
            "partition, but it has 4.");
  instruction.reduce_res = {};
  EXPECT_EQ(error(instruction),
            "Expected operand 'reduce_res' of 'activation_reduce' to be in address space "
            "'psum|sbuf', but it is missing.");
  instruction.reduce_res = bench.tile(kSbuf, kFp32, {8, 1}, "sums");
  instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(error(instruction),
            "instruction 'activation_reduce' cannot run on the GpSimd engine; architecture trn2 "
            "has it on: Scalar.");
}

TEST(ActivationReduce, DemandsAReadOfTheRegisters) {
  InstructionBench bench;
  const View data = bench.tile(kPsum, kFp32, {8, 100}, "data");
  const ActivationReduce instruction{.dst = bench.tile(kSbuf, kFp32, {8, 100}, "dst"),
                                     .data = data,
                                     .op = Activation::kExp,
                                     .reduce_res = bench.tile(kSbuf, kFp32, {8, 1}, "sums")};
  const Step step = bench.demand(instruction).steps[0];
  EXPECT_TRUE(step.reads_accumulator);
  EXPECT_TRUE(step.source_psum);
  EXPECT_EQ(step.elements, 100);
  EXPECT_EQ(step.table, table_of(Activation::kExp));
}

TEST(ActivationReduce, SharesItsRegistersWithActivationInProgramOrder) {
  Builder builder("sums", load_architecture("trn2"));
  const View output = builder.argument("output", {128, 2}, kFp32);
  const View ones = builder.sbuf("ones", {128, 512}, kFp32);
  const View sums = builder.sbuf("sums", {128, 2}, kFp32);
  builder.emit(Memset{ones, 1});
  for (int i = 0; i < 40; ++i) {  // enough work that several threads take part
    builder.emit(ActivationReduce{.dst = builder.sbuf("dst", {128, 512}, kFp32),
                                  .data = ones,
                                  .op = Activation::kTanh,
                                  .reduce_res = sums.slice(1, 0, 1),
                                  .scale = static_cast<double>(i)});
  }
  builder.emit(Activate{.dst = builder.sbuf("dst", {128, 512}, kFp32),
                        .data = ones,
                        .reduce_res = sums.slice(1, 1, 1),
                        .reduce_op = AluOp::kAdd,
                        .reduce_command = ReduceCommand::kReduce});
  builder.emit(DmaCopy{.dst = output, .src = sums});
  const auto program = builder.finish();
  const ExecutionPlan plan = make_plan(*program);
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    ProgramRun run(program);
    run.execute(plan, pool);
    for (int p = 0; p < 128; ++p) {
      EXPECT_EQ(run.data<float>(0)[2 * p], 512) << "tanh(39) is 1";
      EXPECT_EQ(run.data<float>(0)[2 * p + 1], 1024);
    }
  }
}

}  // namespace
}  // namespace neuron_sim
