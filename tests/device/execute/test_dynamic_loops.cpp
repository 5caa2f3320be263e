// Loops that only a run knows: ranges between registers, while loops, virtual registers.

#include <gtest/gtest.h>

#include <cstdlib>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/sequencing/register_alloc.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/isa/sequencing/register_store.h"
#include "device/runtime/kernel.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

RegisterValue in_register(int index) { return {0, static_cast<int16_t>(index)}; }

/// bounds {start, stop} in HBM; counts[0, i] = i and total = the last i, for i in the range.
std::shared_ptr<const Program> range_program(int64_t step, int64_t columns = 16) {
  Builder builder("ranges", load_architecture("trn2"));
  const View bounds = builder.argument("bounds", {1, 2}, Dtype::kInt32);
  const View counts = builder.argument("counts", {1, columns}, Dtype::kInt32);
  const int start = builder.allocate_register(), stop = builder.allocate_register();
  const int i = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = start, .src = bounds.slice(1, 0, 1)});
  builder.emit(RegisterLoad{.dst = stop, .src = bounds.slice(1, 1, 1)});
  const View value = builder.sbuf("value", {1, 1}, Dtype::kInt32);
  builder.set_source_line("ranges.py:7");
  builder.open_range(i, in_register(start), in_register(stop), step);
  builder.emit(RegisterStore{.dst = value, .src = i});
  builder.emit(DmaCopy{.dst = counts.slice(1, 0, 1).at_register(i, 4), .src = value});
  builder.close_loop();
  return builder.finish();
}

/// while (count): output[0, count] = count; count -= 1. All in registers, SBUF and the Vector
/// engine's arithmetic.
std::shared_ptr<const Program> countdown_program(bool changes = true) {
  Builder builder("countdown", load_architecture("trn2"));
  const View input = builder.argument("input", {1, 1}, Dtype::kInt32);
  const View output = builder.argument("output", {1, 8}, Dtype::kInt32);
  const int count = builder.allocate_register();
  const View tile = builder.sbuf("count", {1, 1}, Dtype::kInt32);
  builder.emit(DmaCopy{.dst = tile, .src = input});
  builder.emit(RegisterLoad{.dst = count, .src = tile});
  builder.set_source_line("countdown.py:5");
  builder.open_while(count);
  builder.emit(DmaCopy{.dst = output.slice(1, 0, 1).at_register(count, 4), .src = tile});
  builder.emit(TensorScalar{.dst = tile, .data = tile, .op0 = AluOp::kSubtract, .constant0 = 1});
  if (changes) builder.emit(RegisterLoad{.dst = count, .src = tile});
  builder.close_loop();
  return builder.finish();
}

std::string message_of(ProgramRun& run, ThreadPool& pool) {
  try {
    run.execute(make_plan(run.program()), pool);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

/// Sets an environment variable while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(DynamicRange, CountsBetweenRegisters) {
  for (const int64_t step : {1, 2, 3, 16}) {
    const auto program = range_program(step);
    EXPECT_TRUE(program->uses_registers);
    for (const auto& [start, stop] : {std::pair{0, 16}, std::pair{3, 11}, std::pair{5, 6},
                                      std::pair{5, 5}, std::pair{9, 2}, std::pair{-3, -1}}) {
      if (start < 0 && stop > start) continue;  // addresses in front of the tensor: see below
      for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        ProgramRun run(program);
        run.data<int32_t>(0)[0] = start;
        run.data<int32_t>(0)[1] = stop;
        const ControlLog log = run.execute(make_plan(*program), pool);
        int64_t trips = 0;
        for (int32_t i = 0; i < 16; ++i) {
          const bool visited = i >= start && i < stop && (i - start) % step == 0;
          EXPECT_EQ(run.data<int32_t>(1)[i], visited ? i : 0) << start << ' ' << stop << ' ' << i;
          trips += visited ? 1 : 0;
        }
        EXPECT_EQ(log.values, std::vector<int64_t>{trips});
      }
    }
  }
}

TEST(DynamicRange, RefusesAddressesBeyondTheTensorWithTheLine) {
  const auto program = range_program(1);
  ThreadPool pool(1);
  ProgramRun run(program);
  run.data<int32_t>(0)[0] = 15;
  run.data<int32_t>(0)[1] = 16;
  EXPECT_EQ(message_of(run, pool), "");
  run.data<int32_t>(0)[1] = 17;
  EXPECT_EQ(message_of(run, pool),
            "Out-of-bound access for tensor `counts` by 'dma_copy': register 2 addresses bytes "
            "[64, 68) of 64.\n  at ranges.py:7");
}

TEST(DynamicRange, NestsAndReadsItsBoundsAtEntry) {
  // for i in range(0, n): for j in range(i, n): output[0, j] = i + 1 (through a constant tile).
  Builder builder("nest", load_architecture("trn2"));
  const View n = builder.argument("n", {1, 1}, Dtype::kInt32);
  const View output = builder.argument("output", {1, 6}, Dtype::kInt32);
  const int bound = builder.allocate_register();
  const int i = builder.allocate_register(), j = builder.allocate_register();
  const View value = builder.sbuf("value", {1, 1}, Dtype::kInt32);
  builder.emit(RegisterLoad{.dst = bound, .src = n});
  builder.open_range(i, {}, in_register(bound), 1);
  builder.emit(RegisterMove{.dst = bound, .src = 6});  // the loop read it already
  builder.open_range(j, in_register(i), in_register(bound), 1);
  builder.emit(RegisterStore{.dst = value, .src = i});
  builder.emit(DmaCopy{.dst = output.slice(1, 0, 1).at_register(j, 4), .src = value});
  builder.close_loop();
  builder.close_loop();
  const auto program = builder.finish();
  ThreadPool pool(1);
  ProgramRun run(program);
  *run.data<int32_t>(0) = 3;
  EXPECT_EQ(run.execute(make_plan(*program), pool).values, (std::vector<int64_t>{3, 6, 5, 4}));
  for (int32_t column = 0; column < 6; ++column) {
    EXPECT_EQ(run.data<int32_t>(1)[column], std::min(column, 2));
  }
}

TEST(WhileLoop, RunsUntilItsRegisterIsZero) {
  const auto program = countdown_program();
  for (const int32_t start : {0, 1, 7}) {
    ThreadPool pool(2);
    ProgramRun run(program);
    *run.data<int32_t>(0) = start;
    const ControlLog log = run.execute(make_plan(*program), pool);
    std::vector<int64_t> expected(static_cast<size_t>(start), 1);
    expected.push_back(0);
    EXPECT_EQ(log.values, expected);
    for (int32_t i = 0; i < 8; ++i) EXPECT_EQ(run.data<int32_t>(1)[i], i <= start ? i : 0);
  }
}

TEST(WhileLoop, ThatNothingCanEndIsRefusedAtItsFirstIteration) {
  const auto program = countdown_program(false);
  ThreadPool pool(1);
  ProgramRun run(program);
  *run.data<int32_t>(0) = 0;
  EXPECT_EQ(message_of(run, pool), "");  // never begins
  *run.data<int32_t>(0) = 3;
  EXPECT_EQ(message_of(run, pool),
            "while loop of kernel 'countdown' does not end: its register holds 3, and nothing in "
            "its body writes it.\n  at countdown.py:5");
}

TEST(WhileLoop, ThatDoesNotEndIsStoppedWithItsLine) {
  const Setting limit("NEURON_SIM_MAXIMUM_ITERATIONS", "5");
  const auto program = countdown_program();
  ThreadPool pool(1);
  ProgramRun run(program);
  *run.data<int32_t>(0) = 5;
  EXPECT_EQ(message_of(run, pool), "");
  *run.data<int32_t>(0) = 6;
  EXPECT_EQ(message_of(run, pool),
            "while loop of kernel 'countdown' has not ended: its register holds 1 after 5 "
            "iterations of loops on registers, of which a run may take 5 "
            "(NEURON_SIM_MAXIMUM_ITERATIONS).\n  at countdown.py:5");
  *run.data<int32_t>(0) = 2;
  EXPECT_EQ(message_of(run, pool), "");  // memories stay usable
}

TEST(DynamicRange, WithTooManyIterationsIsRefusedAtEntry) {
  const Setting limit("NEURON_SIM_MAXIMUM_ITERATIONS", "8");
  const auto program = range_program(1);
  ThreadPool pool(1);
  ProgramRun run(program);
  run.data<int32_t>(0)[1] = 8;
  EXPECT_EQ(message_of(run, pool), "");
  run.data<int32_t>(0)[1] = 9;
  EXPECT_EQ(message_of(run, pool),
            "loop of kernel 'ranges' has 9 more iterations of loops on registers, of which a run "
            "may take 8 (NEURON_SIM_MAXIMUM_ITERATIONS).\n  at ranges.py:7");
}

TEST(DynamicLoops, TheLimitIsAPositiveNumber) {
  const auto program = range_program(1);
  ThreadPool pool(1);
  ProgramRun run(program);
  for (const char* value : {"0", "-1", "many", "12x"}) {
    const Setting limit("NEURON_SIM_MAXIMUM_ITERATIONS", value);
    EXPECT_EQ(message_of(run, pool),
              text("NEURON_SIM_MAXIMUM_ITERATIONS is '", value,
                   "'; it is a number of iterations from 1 to 1099511627775."));
  }
}

TEST(VirtualRegisters, AreThoseOfEverySequencer) {
  // The register is loaded without naming an engine; Vector, Scalar and GpSimd address with it.
  Builder builder("shared", load_architecture("trn2"));
  const View input = builder.argument("input", {1, 1}, Dtype::kInt32);
  const View output = builder.argument("output", {4, 3}, Dtype::kFloat32);
  const int column = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = column, .src = input});
  const View source = builder.sbuf("source", {4, 5}, Dtype::kFloat32);
  const View target = builder.sbuf("target", {4, 3}, Dtype::kFloat32);
  for (int64_t i = 0; i < 5; ++i) {
    builder.emit(Memset{source.slice(1, i, 1), static_cast<float>(i)});
  }
  int64_t next = 0;
  for (const EngineKind engine : {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}) {
    builder.emit(TensorCopy{.dst = target.slice(1, next++, 1),
                            .src = source.slice(1, 0, 1).at_register(column, 4),
                            .engine = engine});
  }
  builder.emit(DmaCopy{.dst = output, .src = target});
  const auto program = builder.finish();
  ThreadPool pool(2);
  for (const int32_t index : {0, 3, 4}) {
    ProgramRun run(program);
    *run.data<int32_t>(0) = index;
    run.execute(make_plan(*program), pool);
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(run.data<float>(1)[i], static_cast<float>(index));
    }
  }
}

TEST(RegisterAddress, OutOfBoundsCanBeSkipped) {
  Builder builder("skips", load_architecture("trn2"));
  const View index = builder.argument("index", {1, 1}, Dtype::kInt32);
  const View output = builder.argument("output", {1, 4}, Dtype::kInt32);
  const int at = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = at, .src = index});
  const View ones = builder.sbuf("ones", {1, 1}, Dtype::kInt32);
  builder.emit(Memset{ones, 1});
  builder.emit(
      DmaCopy{.dst = output.slice(1, 0, 1).at_register(at, 4), .src = ones, .oob_skip = true});
  const auto program = builder.finish();
  ThreadPool pool(1);
  for (const int32_t value : {-1, 0, 3, 4}) {
    ProgramRun run(program);
    *run.data<int32_t>(0) = value;
    run.execute(make_plan(*program), pool);
    for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(run.data<int32_t>(1)[i], i == value ? 1 : 0);
  }
}

}  // namespace
}  // namespace neuron_sim
