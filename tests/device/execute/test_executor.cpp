#include <gtest/gtest.h>

#include <cstring>

#include "tests/device/execute/run_program.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

using Mode = ExecutionPlan::Mode;

/// Runs a program in every mode with 1 and 2 threads; all bytes must be those of the oracle.
void expect_like_interpretation(const std::shared_ptr<const Program>& program,
                                const std::string& what) {
  const ExecutionPlan plan = make_plan(*program);
  ProgramRun oracle(program);
  oracle.randomise(7);
  oracle.interpret(plan.fill);
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (const Mode mode : {Mode::kSerial, Mode::kGraph, Mode::kWindows}) {
      if (mode == Mode::kGraph && !plan.resolved) continue;
      ExecutionPlan chosen = plan;
      chosen.mode = mode;
      ProgramRun run(program);
      run.randomise(7);
      EXPECT_TRUE(run.execute(chosen, pool).values.empty());
      const std::string where =
          text(what, ", threads ", threads, ", mode ", static_cast<int>(mode));
      ASSERT_TRUE(run.bytes() == oracle.bytes()) << where;
      // Loads whose readers find the bytes in HBM leave nothing in SBUF.
      const bool walks = !plan.resolved || (mode == Mode::kWindows && threads > 1);
      if (walks || plan.graph.replaced.empty()) {
        ASSERT_TRUE(run.on_chip() == oracle.on_chip()) << where;
      }
    }
  }
}

TEST(Executor, ComputesTheBytesOfAnInterpretationInProgramOrder) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomProgramOptions options{.longest_loop = 5, .blocks = 6, .moving_windows = 30};
    expect_like_interpretation(RandomProgram(seed, load_architecture("trn2"), options).build(),
                               text("seed ", seed));
    if (HasFatalFailure()) return;
  }
}

TEST(Executor, KeepsFp32CopiesInStepWithLowPrecisionTiles) {
  for (uint64_t seed = 100; seed <= 140; ++seed) {
    RandomProgramOptions options{.longest_loop = 4,
                                 .blocks = 6,
                                 .matmul_share = 60,
                                 .moving_windows = 40,
                                 .undefined_reads = seed % 2 == 0};
    const auto program = RandomProgram(seed, load_architecture("trn2"), options).build();
    expect_like_interpretation(program, text("seed ", seed));
    if (HasFatalFailure()) return;
  }
}

TEST(Executor, OrdersInstancesOfDifferentWindows) {
  int long_programs = 0;
  for (uint64_t seed = 200; long_programs < 3 && seed < 300; ++seed) {
    RandomProgramOptions options{
        .shortest_loop = 30, .longest_loop = 60, .blocks = 6, .statements = 3, .matmul_share = 5};
    const auto program = RandomProgram(seed, load_architecture("trn2"), options).build();
    ExecutionPlan plan = make_plan(*program);
    if (plan.graph.instances.size() < 9000 || plan.graph.instances.size() > 30000) continue;
    ++long_programs;
    expect_like_interpretation(program, text("seed ", seed));
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(long_programs, 3);
}

TEST(Executor, LaunchesRepeatedlyOnTheSameMemoryWithTheSameResult) {
  RandomProgramOptions options{.blocks = 6};
  const auto program = RandomProgram(11, load_architecture("trn2"), options).build();
  const ExecutionPlan plan = make_plan(*program);
  ThreadPool pool(2);
  ProgramRun once(program), often(program);
  once.randomise(1);
  once.execute(plan, pool);
  for (int i = 0; i < 3; ++i) {
    often.randomise(1);
    often.execute(plan, pool);
    EXPECT_TRUE(often.bytes() == once.bytes()) << i;
  }
}

/// moving[k, n] selects rows; a column without a single 1 fails at run time.
std::shared_ptr<const Program> selecting_program(int repetitions) {
  Builder builder("selecting", load_architecture("trn2"));
  const View selection = builder.argument("selection", {32, 32}, Dtype::kFloat32);
  const View output = builder.argument("output", {32, 32}, Dtype::kFloat32);
  const View moving = builder.sbuf("moving", {32, 32}, Dtype::kFloat32, 2);
  const View out = builder.sbuf("out", {32, 32}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {32, 32}, Dtype::kFloat32, 2);
  builder.loop(repetitions, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = moving.turn(i), .src = selection});
    builder.emit(NcMatmul{.dst = sum.turn(i),
                          .stationary = moving.turn(i),
                          .moving = moving.turn(i),
                          .is_transpose = true});
    builder.emit(TensorCopy{out, sum.turn(i)});
  });
  builder.emit(DmaCopy{.dst = output, .src = out});
  return builder.finish();
}

TEST(Executor, PassesExceptionsOfInstructionsOnAndStaysUsable) {
  const auto program = selecting_program(20);
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    for (const Mode mode : {Mode::kSerial, Mode::kGraph, Mode::kWindows}) {
      ExecutionPlan plan = make_plan(*program);
      plan.mode = mode;
      ProgramRun run(program);
      EXPECT_THROW(run.execute(plan, pool), KernelError);  // no column has a 1
      for (size_t i = 0; i < 32; ++i) run.data<float>(0)[i * 32 + (i + 5) % 32] = 1;
      EXPECT_NO_THROW(run.execute(plan, pool));
      for (size_t i = 0; i < 32; ++i) EXPECT_EQ(run.data<float>(1)[i * 33], 1);
    }
  }
}

TEST(Executor, RunsAProgramWithoutInstructions) {
  Builder builder("empty", load_architecture("trn2"));
  const auto program = builder.finish();
  for (const Mode mode : {Mode::kSerial, Mode::kGraph, Mode::kWindows}) {
    ExecutionPlan plan = make_plan(*program);
    plan.mode = mode;
    ThreadPool pool(2);
    ProgramRun run(program);
    EXPECT_TRUE(run.execute(plan, pool).values.empty());
  }
}

TEST(Executor, ReadsUninitialisedMemoryAsNanAndFour) {
  Builder builder("unwritten", load_architecture("trn2"));
  const View floats = builder.argument("floats", {4, 8}, Dtype::kFloat32);
  const View integers = builder.argument("integers", {4, 8}, Dtype::kInt32);
  const View f = builder.sbuf("f", {4, 8}, Dtype::kFloat32);
  const View i = builder.sbuf("i", {4, 8}, Dtype::kInt32);
  builder.emit(Memset{f.slice(1, 0, 4), 2});
  builder.emit(DmaCopy{.dst = floats, .src = f});
  builder.emit(DmaCopy{.dst = integers, .src = i});
  const auto program = builder.finish();
  const ExecutionPlan plan = make_plan(*program);
  EXPECT_EQ(plan.fill.size(), 2u);
  ProgramRun run(program);
  std::memset(run.memory().at(MemoryKind::kSbuf, 0, 0), 0x11, 256);
  ThreadPool pool(1);
  run.execute(plan, pool);
  for (size_t k = 0; k < 32; ++k) {
    EXPECT_EQ(std::isnan(run.data<float>(0)[k]), k % 8 >= 4) << k;
    EXPECT_EQ(run.data<int32_t>(1)[k], 4);
  }
}

}  // namespace
}  // namespace neuron_sim
