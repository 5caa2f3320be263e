// Programs of two cores from end to end: bytes.

#include <gtest/gtest.h>

#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
using Mode = ExecutionPlan::Mode;

/// Runs the program serially and in windows on 1, 2 and 3 threads; all bytes must be equal.
/// Returns a run.
std::unique_ptr<ProgramRun> run_everywhere(const std::shared_ptr<const Program>& program) {
  std::unique_ptr<ProgramRun> first;
  const ExecutionPlan plan = make_plan(*program);
  EXPECT_FALSE(plan.resolved);
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (const Mode mode : {Mode::kSerial, Mode::kWindows}) {
      if (mode == Mode::kWindows && program->uses_registers) continue;
      ExecutionPlan chosen = plan;
      chosen.mode = mode;
      auto run = std::make_unique<ProgramRun>(program);
      run->randomise(5);
      run->execute(chosen, pool);
      if (!first) {
        first = std::move(run);
        continue;
      }
      EXPECT_TRUE(run->bytes() == first->bytes()) << threads;
      EXPECT_TRUE(run->on_chip() == first->on_chip()) << threads;
    }
  }
  return first;
}

std::string run_error(const std::shared_ptr<const Program>& program) {
  ThreadPool pool(1);
  ProgramRun run(program);
  try {
    run.execute(make_plan(*program), pool);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(TwoCores, AddVectorsInTwoHalves) {
  constexpr int64_t kRows = 7, kColumns = 33;
  Builder builder("add", load_architecture("trn2"));
  const View a = builder.argument("a", {2 * kRows, kColumns}, kFloat);
  const View b = builder.argument("b", {2 * kRows, kColumns}, kFloat);
  const View sum = builder.argument("sum", {2 * kRows, kColumns}, kFloat);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const auto half = [&](const View& tensor) { return tensor.slice(0, core * kRows, kRows); };
      const View x = builder.sbuf("x", {kRows, kColumns}, kFloat);
      const View y = builder.sbuf("y", {kRows, kColumns}, kFloat);
      builder.emit(DmaCopy{.dst = x, .src = half(a)});
      builder.emit(DmaCopy{.dst = y, .src = half(b)});
      builder.emit(TensorTensor{x, x, y, AluOp::kAdd});
      builder.emit(DmaCopy{.dst = half(sum), .src = x});
    });
  }
  const auto run = run_everywhere(builder.finish());
  for (int64_t i = 0; i < 2 * kRows * kColumns; ++i) {
    EXPECT_EQ(run->data<float>(2)[i], run->data<float>(0)[i] + run->data<float>(1)[i]) << i;
  }
}

/// out[p, i] = in[p, i - 1] + in[p, i] + in[p, i + 1] with zeros outside; each core holds half of
/// the columns and gets the other's edge by sendrecv.
std::shared_ptr<const Program> halo_program(DmaEngine dma_engine, Dtype dtype, int64_t width) {
  Builder builder("halo", load_architecture("trn2"));
  const View in = builder.argument("in", {5, 2 * width}, dtype);
  const View out = builder.argument("out", {5, 2 * width}, dtype);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View tile = builder.sbuf("tile", {5, width + 2}, dtype);
      const View sum = builder.sbuf("sum", {5, width}, dtype);
      builder.emit(Memset{tile, 0});
      builder.emit(
          DmaCopy{.dst = tile.slice(1, 1, width), .src = in.slice(1, core * width, width)});
      const int64_t halo = core == 0 ? width + 1 : 0, edge = core == 0 ? width : 1;
      builder.emit(
          exchange_of(core, tile.slice(1, halo, 1), tile.slice(1, edge, 1), 4, dma_engine));
      builder.emit(
          TensorTensor{sum, tile.slice(1, 0, width), tile.slice(1, 1, width), AluOp::kAdd});
      builder.emit(TensorTensor{sum, sum, tile.slice(1, 2, width), AluOp::kAdd});
      builder.emit(DmaCopy{.dst = out.slice(1, core * width, width), .src = sum});
    });
  }
  return builder.finish();
}

TEST(TwoCores, ExchangeTheEdgesOfTheirHalves) {
  for (const DmaEngine dma_engine : {DmaEngine::kDma, DmaEngine::kGpSimdDma}) {
    for (const int64_t width : {1, 2, 37}) {
      const auto run = run_everywhere(halo_program(dma_engine, kFloat, width));
      for (int64_t p = 0; p < 5; ++p) {
        const float* in = run->data<float>(0) + p * 2 * width;
        for (int64_t i = 0; i < 2 * width; ++i) {
          const float left = i > 0 ? in[i - 1] : 0, right = i + 1 < 2 * width ? in[i + 1] : 0;
          EXPECT_EQ(run->data<float>(1)[p * 2 * width + i], left + in[i] + right) << p << " " << i;
        }
      }
    }
  }
}

TEST(TwoCores, KeepFp32CopiesOfWhatTheyReceive) {
  // Each core multiplies the weights it received, in bf16.
  Builder builder("product", load_architecture("trn2"));
  const View weights = builder.argument("weights", {2, 16, 8}, Dtype::kBfloat16);
  const View moving = builder.argument("moving", {16, 9}, Dtype::kBfloat16);
  const View out = builder.argument("out", {2, 8, 9}, kFloat);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View own = builder.sbuf("own", {16, 8}, Dtype::kBfloat16);
      const View received = builder.sbuf("received", {16, 8}, Dtype::kBfloat16);
      const View x = builder.sbuf("x", {16, 9}, Dtype::kBfloat16),
                 sum = builder.psum("sum", {8, 9});
      const View result = builder.sbuf("result", {8, 9}, kFloat);
      builder.emit(DmaCopy{.dst = own, .src = weights.select(0, core)});
      builder.emit(DmaCopy{.dst = x, .src = moving});
      builder.emit(exchange_of(core, received, own));
      builder.emit(NcMatmul{.dst = sum, .stationary = received, .moving = x});
      builder.emit(TensorCopy{result, sum});
      builder.emit(DmaCopy{.dst = out.select(0, core), .src = result});
    });
  }
  const auto program = builder.finish();
  const auto run = run_everywhere(program);
  const auto value = [&](size_t argument, int64_t index) {
    float single = 0;
    load_floats(run->bytes()[argument].data() + index * 2, Dtype::kBfloat16, 0, &single, 1);
    return double{single};
  };
  for (int64_t core = 0; core < 2; ++core) {
    for (int64_t m = 0; m < 8; ++m) {
      for (int64_t n = 0; n < 9; ++n) {
        double expected = 0;
        for (int64_t k = 0; k < 16; ++k) {
          expected += value(0, ((1 - core) * 16 + k) * 8 + m) * value(1, k * 9 + n);
        }
        EXPECT_NEAR(run->data<float>(2)[(core * 8 + m) * 9 + n], expected, 1e-5);
      }
    }
  }
}

/// Core 0 doubles `in` into `shared`; core 1 adds 1 after a barrier, if there is one.
std::shared_ptr<const Program> producer_and_consumer(bool barrier, EngineKind engine) {
  Builder builder("pipeline", load_architecture("trn2"));
  const View in = builder.argument("in", {3, 10}, kFloat);
  const View shared = builder.argument("shared", {3, 10}, kFloat);
  const View out = builder.argument("out", {3, 10}, kFloat), data = shared;
  builder.core(0, [&] {
    const View t = builder.sbuf("t", {3, 10}, kFloat);
    builder.emit(DmaCopy{.dst = t, .src = in});
    builder.emit(TensorTensor{t, t, t, AluOp::kAdd});
    builder.emit(DmaCopy{.dst = shared, .src = t});
    if (barrier) builder.emit(CoreBarrier{.data = data, .engine = engine});
  });
  builder.core(1, [&] {
    const View t = builder.sbuf("t", {3, 10}, kFloat), one = builder.sbuf("one", {3, 10}, kFloat);
    builder.emit(Memset{one, 1});
    if (barrier) builder.emit(CoreBarrier{.data = data, .engine = engine});
    builder.emit(DmaCopy{.dst = t, .src = shared});
    builder.emit(TensorTensor{t, t, one, AluOp::kAdd});
    builder.emit(DmaCopy{.dst = out, .src = t});
  });
  return builder.finish();
}

TEST(TwoCores, HandDataOverThroughHbmBehindABarrier) {
  for (int engine = 0; engine < kEngineCount; ++engine) {
    const auto run = run_everywhere(producer_and_consumer(true, static_cast<EngineKind>(engine)));
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(run->data<float>(2)[i], 2 * run->data<float>(0)[i] + 1) << i;
    }
  }
  EXPECT_THROW(producer_and_consumer(false, EngineKind::kAuto), KernelError);
}

TEST(TwoCores, MeetInEveryIterationOfLoops) {
  // Each iteration, each core writes its row, and reads the other's row of the last interval.
  constexpr int64_t kRounds = 9;
  Builder builder("rounds", load_architecture("trn3"));
  const View in = builder.argument("in", {2, kRounds, 6}, kFloat);
  const View mail = builder.argument("mail", {2, 6}, kFloat);
  const View out = builder.argument("out", {2, kRounds, 6}, kFloat);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      builder.loop(kRounds, [&](const Affine& i) {
        const View t = builder.sbuf("t", {1, 6}, kFloat), u = builder.sbuf("u", {1, 6}, kFloat);
        builder.emit(DmaCopy{.dst = t, .src = in.select(0, core).slice(0, i, 1)});
        builder.emit(DmaCopy{.dst = mail.slice(0, core, 1), .src = t});
        builder.emit(CoreBarrier{.data = mail});
        builder.emit(DmaCopy{.dst = u, .src = mail.slice(0, 1 - core, 1)});
        builder.emit(CoreBarrier{.data = mail, .engine = EngineKind::kVector});
        builder.emit(DmaCopy{.dst = out.select(0, core).slice(0, i, 1), .src = u});
      });
    });
  }
  const auto run = run_everywhere(builder.finish());
  for (int64_t i = 0; i < kRounds * 6; ++i) {
    EXPECT_EQ(run->data<float>(2)[i], run->data<float>(0)[kRounds * 6 + i]);
    EXPECT_EQ(run->data<float>(2)[kRounds * 6 + i], run->data<float>(0)[i]);
  }
}

TEST(TwoCores, HaveRegistersOfTheirOwn) {
  Builder builder("registers", load_architecture("trn2"));
  const View out = builder.argument("out", {2, 8}, kFloat);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View t = builder.sbuf("t", {1, 8}, kFloat);
      const int index = builder.allocate_register();
      EXPECT_EQ(index, 0);
      builder.emit(Memset{t, 0});
      builder.emit(RegisterMove{.dst = index, .src = core == 0 ? 3 : 5});
      builder.loop_register(EngineKind::kSync, index, 8, [&](const Affine& i) {
        builder.emit(Memset{t.slice(1, i, 1), 1});
      });
      builder.emit(DmaCopy{.dst = out.slice(0, core, 1), .src = t});
    });
  }
  const auto program = builder.finish();
  ThreadPool pool(2);
  ProgramRun run(program);
  EXPECT_EQ(run.execute(make_plan(*program), pool).values, (std::vector<int64_t>{3, 5}));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(run.data<float>(0)[i], i < 3 ? 1 : 0);
    EXPECT_EQ(run.data<float>(0)[8 + i], i < 5 ? 1 : 0);
  }
}

TEST(TwoCores, ThatMeetDifferentlyOftenEndWithAnError) {
  const auto error = [](int64_t first, int64_t second) {
    Builder builder("uneven", load_architecture("trn2"));
    const View x = builder.argument("x", {1, 4}, kFloat);
    for (const int core : {0, 1}) {
      builder.core(core, [&] {
        builder.emit(RegisterMove{.dst = 0, .src = core == 0 ? first : second});
        builder.loop_register(EngineKind::kSync, 0, 9,
                              [&](const Affine&) { builder.emit(CoreBarrier{.data = x}); });
      });
    }
    return run_error(builder.finish());
  };
  EXPECT_EQ(error(4, 4), "");
  EXPECT_EQ(error(0, 0), "");
  EXPECT_EQ(error(4, 5),
            "kernel 'uneven' deadlocks: core 1 waits at 'core_barrier' on tensor 'x' for core 0, "
            "which has ended.");
  EXPECT_EQ(error(9, 0),
            "kernel 'uneven' deadlocks: core 0 waits at 'core_barrier' on tensor 'x' for core 1, "
            "which has ended.");
}

}  // namespace
}  // namespace neuron_sim
