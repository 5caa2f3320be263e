#include "device/program/meeting.h"

#include <gtest/gtest.h>

#include "device/isa/sequencing/register_move.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

/// Two cores with two tensors and tiles each; a test emits into each core.
class TwoCores {
 public:
  explicit TwoCores(const char* architecture = "trn2")
      : builder("meet", load_architecture(architecture)),
        x(builder.argument("x", {4, 8}, Dtype::kFloat32)),
        y(builder.argument("y", {4, 8}, Dtype::kFloat32)) {
    for (const int core : {0, 1}) {
      builder.core(core, [&] {
        sent[core] = builder.sbuf(text("sent", core), {4, 8}, Dtype::kFloat32);
        received[core] = builder.sbuf(text("received", core), {4, 8}, Dtype::kFloat32);
      });
    }
  }
  void barrier(int core, const View& data) {
    builder.core(core, [&] { builder.emit(CoreBarrier{.data = data}); });
  }
  void exchange(int core, int64_t pipe_id) {
    builder.core(core,
                 [&] { builder.emit(exchange_of(core, received[core], sent[core], pipe_id)); });
  }

  Builder builder;
  View x, y, sent[2], received[2];
};

TEST(Meeting, FitsWhenBothCoresSynchroniseInTheSameOrder) {
  TwoCores cores;
  for (const int core : {0, 1}) {
    cores.barrier(core, cores.x);
    cores.exchange(core, 3);
    cores.barrier(core, cores.y.slice(0, core, 2));  // one tensor, any part of it
    cores.exchange(core, 0);
  }
  EXPECT_EQ(finish_error(cores.builder), "");
}

TEST(Meeting, SaysWhichCoreHasEnded) {
  TwoCores cores;
  cores.barrier(0, cores.x);
  cores.barrier(1, cores.x);
  cores.barrier(1, cores.y);
  EXPECT_EQ(finish_error(cores.builder),
            "kernel 'meet' deadlocks: core 1 waits at 'core_barrier' on tensor 'y' for core 0, "
            "which has ended.");
  TwoCores other;
  other.builder.set_source_line("kernel.py:7");
  other.exchange(0, 5);
  EXPECT_EQ(finish_error(other.builder),
            "kernel 'meet' deadlocks: core 0 waits at 'sendrecv' with pipe_id 5 for core 1, which "
            "has ended.\n  at kernel.py:7");
  Builder alone("alone", load_architecture("trn2"));
  alone.emit(CoreBarrier{.data = alone.argument("x", {4, 8}, Dtype::kFloat32)});
  EXPECT_EQ(finish_error(alone),
            "kernel 'alone' deadlocks: core 0 waits at 'core_barrier' on tensor 'x' for core 1, "
            "which has no instructions.");
}

TEST(Meeting, SaysWhatTheCoresWaitForWhenThatDiffers) {
  TwoCores tensors;
  tensors.barrier(0, tensors.x);
  tensors.barrier(1, tensors.y);
  EXPECT_EQ(finish_error(tensors.builder),
            "kernel 'meet' deadlocks: core 0 waits at 'core_barrier' on tensor 'x', core 1 at "
            "'core_barrier' on tensor 'y'.");
  TwoCores kinds;
  kinds.builder.set_source_line("first");
  kinds.barrier(0, kinds.x);
  kinds.builder.set_source_line("second");
  kinds.exchange(1, 0);
  EXPECT_EQ(finish_error(kinds.builder),
            "kernel 'meet' deadlocks: core 0 waits at 'core_barrier' on tensor 'x', core 1 at "
            "'sendrecv' with pipe_id 0.\n  at first\n  at second");
  TwoCores pipes;
  pipes.exchange(0, 1);
  pipes.exchange(1, 2);
  EXPECT_EQ(finish_error(pipes.builder),
            "kernel 'meet' deadlocks: core 0 waits at 'sendrecv' with pipe_id 1, core 1 at "
            "'sendrecv' with pipe_id 2.");
}

TEST(Meeting, CountsBarriersInLoops) {
  const auto error = [](int64_t first, int64_t second) {
    TwoCores cores;
    for (const int core : {0, 1}) {
      cores.builder.core(core, [&] {
        cores.builder.loop(core == 0 ? first : second, [&](const Affine&) {
          cores.builder.loop(
              3, [&](const Affine&) { cores.builder.emit(CoreBarrier{.data = cores.x}); });
        });
      });
    }
    return finish_error(cores.builder);
  };
  EXPECT_EQ(error(5, 5), "");
  EXPECT_EQ(error(5, 4),
            "kernel 'meet' deadlocks: core 0 waits at 'core_barrier' on tensor 'x' for core 1, "
            "which has ended.");
  EXPECT_EQ(error(4, 5),
            "kernel 'meet' deadlocks: core 1 waits at 'core_barrier' on tensor 'x' for core 0, "
            "which has ended.");
}

TEST(Meeting, ChecksThatOneReceivesWhatTheOtherSends) {
  const auto error = [](const std::vector<int64_t>& shape, Dtype dtype, DmaEngine dma) {
    TwoCores cores;
    cores.exchange(0, 2);
    cores.builder.core(1, [&] {
      const View a = cores.builder.sbuf("a", shape, dtype),
                 b = cores.builder.sbuf("b", shape, dtype);
      cores.builder.emit(exchange_of(1, a, b, 2, dma));
    });
    return finish_error(cores.builder);
  };
  const DmaEngine dma = DmaEngine::kDma;
  EXPECT_EQ(error({4, 8}, Dtype::kFloat32, dma), "");
  EXPECT_EQ(error({4, 9}, Dtype::kFloat32, dma),
            "'sendrecv' with pipe_id 2 of kernel 'meet': core 0 sends float32 [4, 8] from tile "
            "'sent0', but core 1 receives float32 [4, 9] in tile 'a'.");
  EXPECT_EQ(error({4, 8}, Dtype::kInt32, dma),
            "'sendrecv' with pipe_id 2 of kernel 'meet': core 0 sends float32 [4, 8] from tile "
            "'sent0', but core 1 receives int32 [4, 8] in tile 'a'.");
  EXPECT_EQ(error({3, 8}, Dtype::kFloat32, dma),
            "'sendrecv' with pipe_id 2 of kernel 'meet': core 0 sends float32 [4, 8] from tile "
            "'sent0', but core 1 receives float32 [3, 8] in tile 'a'.");
  EXPECT_EQ(error({4, 2, 4}, Dtype::kFloat32, dma),
            "'sendrecv' with pipe_id 2 of kernel 'meet': core 0 sends float32 [4, 8] from tile "
            "'sent0', but core 1 receives float32 [4, 2, 4] in tile 'a'.");
  EXPECT_EQ(error({4, 8}, Dtype::kFloat32, DmaEngine::kGpSimdDma),
            "'sendrecv' with pipe_id 2 of kernel 'meet' uses different DMA engines on core 0 and "
            "on core 1.");
}

TEST(Meeting, RefusesToSendBytesThatAreReceived) {
  const auto error = [](int64_t distance) {
    TwoCores cores;
    cores.builder.core(0, [&] {
      const View t = cores.builder.sbuf("t", {4, 32}, Dtype::kFloat32);
      cores.builder.emit(exchange_of(0, t.slice(1, distance, 8, 3), t.slice(1, 0, 8, 3)));
    });
    cores.exchange(1, 0);
    return finish_error(cores.builder);
  };
  EXPECT_EQ(error(1), "");  // between them
  EXPECT_EQ(error(3),
            "'sendrecv' with pipe_id 0 of core 0 of kernel 'meet': src and dst overlap in tile "
            "'t'.");
  EXPECT_EQ(error(0), error(3));
}

}  // namespace
}  // namespace neuron_sim
