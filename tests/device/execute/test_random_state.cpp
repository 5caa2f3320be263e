// Random numbers in programs: the order of the instructions decides which gets which numbers, on
// any number of host threads, and the state lasts from program to program.

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/random/dropout.h"
#include "device/isa/random/rng.h"
#include "device/isa/random/set_rng_seed.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

/// output[i] = dropout of ones for turns of a loop; other turns leave bits. `seed`: sets the state
/// first.
std::shared_ptr<const Program> random_program(bool seed, const char* architecture = "trn2") {
  constexpr int64_t kTurns = 24, kElements = 512;
  Builder builder("random", load_architecture(architecture));
  const View output = builder.argument("output", {kTurns, 128, kElements}, Dtype::kFloat32);
  const View numbers = builder.argument("numbers", {kTurns, 128, kElements}, Dtype::kUint32);
  const View ones = builder.sbuf("ones", {128, kElements}, Dtype::kFloat32);
  builder.emit(Memset{ones, 1});
  if (seed) {
    const View value = builder.sbuf("seed", {1, 1}, Dtype::kUint32);
    builder.emit(Memset{value, 1234});
    builder.emit(SetRngSeed{value});
  }
  builder.loop(kTurns, [&](const Affine& i) {
    const View kept = builder.sbuf("kept", {128, kElements}, Dtype::kFloat32, 3).turn(i);
    const View bits = builder.sbuf("bits", {128, kElements}, Dtype::kUint32, 3).turn(i);
    builder.emit(Dropout{.dst = kept, .data = ones, .prob = 0.5});
    builder.emit(Activate{.dst = kept, .data = kept, .op = Activation::kTanh});
    builder.emit(Rng{bits});
    builder.emit(DmaCopy{.dst = output.select(0, i), .src = kept});
    builder.emit(DmaCopy{.dst = numbers.select(0, i), .src = bits});
  });
  return builder.finish();
}

TEST(RandomState, BytesAreTheSameForAnyNumberOfHostThreads) {
  for (const char* architecture : {"trn1", "trn3"}) {
    const auto program = random_program(false, architecture);
    const ExecutionPlan plan = make_plan(*program);
    EXPECT_NE(plan.mode, ExecutionPlan::Mode::kSerial) << "several threads have work";
    ProgramRun oracle(program);
    oracle.interpret(plan.fill);
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      ProgramRun run(program);
      run.execute(plan, pool);
      EXPECT_TRUE(run.bytes() == oracle.bytes()) << threads;
    }
  }
}

TEST(RandomState, LastsFromProgramToProgramAndASeedRestoresIt) {
  ThreadPool pool(2);
  for (const bool seed : {false, true}) {
    const auto program = random_program(seed);
    const ExecutionPlan plan = make_plan(*program);
    EXPECT_TRUE(plan.fill.empty()) << "a random state is never uninitialised";
    ProgramRun run(program);
    run.execute(plan, pool);
    const auto first = run.bytes();
    run.execute(plan, pool);
    EXPECT_EQ(run.bytes() == first, seed);
    ProgramRun another(program);  // a new core is a reset core
    another.execute(plan, pool);
    EXPECT_TRUE(another.bytes() == first);
  }
}

}  // namespace
}  // namespace neuron_sim
