// Programs that move values between memory and the registers of a sequencer.

#include <gtest/gtest.h>

#include <map>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/sequencing/register_alloc.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/isa/sequencing/register_store.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

struct Recorder : TimelineObserver {
  void step(const Program& program, const StepEvent& event) override {
    if (event.kind == EventKind::kStep || event.kind == EventKind::kTransfer) {
      spans[program.instructions[event.instruction].type->name].push_back(event.span);
    }
  }
  std::map<std::string_view, std::vector<Span>> spans;
};

/// output = {input, input, 42}, int32, through registers of the GpSimd sequencer, beside so much
/// work of the other engines that several threads would share it.
std::shared_ptr<const Program> round_trip() {
  Builder builder("round_trip", load_architecture("trn2"));
  const EngineKind gpsimd = EngineKind::kGpSimd;
  const View input = builder.argument("input", {1, 1}, Dtype::kInt32);
  const View output = builder.argument("output", {1, 3}, Dtype::kInt32);
  const View in = builder.sbuf("in", {1, 1}, Dtype::kInt32);
  const View out = builder.sbuf("out", {1, 1}, Dtype::kInt32);
  const View copied = builder.sbuf("copied", {1, 1}, Dtype::kInt32);
  const View work = builder.sbuf("work", {128, 4096}, Dtype::kFloat32);
  const int first = builder.allocate_register(), second = builder.allocate_register();
  builder.emit(RegisterAlloc{.dst = second, .x_constant = 42, .engine = gpsimd});
  builder.emit(RegisterStore{.dst = output.slice(1, 2, 1), .src = second, .engine = gpsimd});
  builder.emit(DmaCopy{.dst = in, .src = input});
  builder.emit(RegisterLoad{.dst = first, .src = in, .engine = gpsimd});
  builder.emit(RegisterMove{.dst = second, .src_register = first, .engine = gpsimd});
  builder.emit(RegisterMove{.dst = first, .src = 9, .engine = gpsimd});
  builder.emit(RegisterStore{.dst = out, .src = second, .engine = gpsimd});
  builder.emit(DmaCopy{.dst = output.slice(1, 0, 1), .src = out});
  builder.emit(TensorCopy{.dst = copied, .src = out, .engine = EngineKind::kVector});
  builder.emit(DmaCopy{.dst = output.slice(1, 1, 1), .src = copied});
  for (int i = 0; i < 8; ++i) {
    builder.emit(Memset{.dst = work.slice(1, 512 * i, 512), .value = 1});
  }
  return builder.finish();
}

TEST(Registers, CarryValuesFromMemoryToMemory) {
  const auto program = round_trip();
  EXPECT_TRUE(program->uses_registers);
  const ExecutionPlan plan = make_plan(*program);
  EXPECT_EQ(plan.mode, ExecutionPlan::Mode::kSerial);
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    for (const int32_t value : {0, -1, 2147483647, -2147483647 - 1}) {
      ProgramRun run(program);
      *run.data<int32_t>(0) = value;
      EXPECT_EQ(run.execute(plan, pool).values, std::vector<int64_t>{});
      EXPECT_EQ(run.data<int32_t>(1)[0], value);
      EXPECT_EQ(run.data<int32_t>(1)[1], value);
      EXPECT_EQ(run.data<int32_t>(1)[2], 42);
    }
  }
}

TEST(Registers, AreTimedInOrder) {
  const auto program = round_trip();
  Recorder recorder;
  simulate(*program, {}, {.observer = &recorder});
  const Span load = recorder.spans.at("register_load")[0];
  const Span store = recorder.spans.at("register_store")[1];
  const std::vector<Span>& transfers = recorder.spans.at("dma_copy");
  ASSERT_EQ(transfers.size(), 3U);
  EXPECT_GE(load.start, transfers[0].done);  // the input has arrived
  EXPECT_GE(store.start, load.done);
  EXPECT_GE(recorder.spans.at("tensor_copy")[0].start, store.done);
  EXPECT_GE(transfers[1].start, store.done);
  EXPECT_GE(transfers[2].start, recorder.spans.at("tensor_copy")[0].done);
}

TEST(Registers, OnlyReservedTakeNoTime) {
  const auto time = [](bool sets) {
    Builder builder("reserve", load_architecture("trn2"));
    const View tile = builder.sbuf("tile", {1, 1}, Dtype::kInt32);
    const EngineKind vector = EngineKind::kVector;
    RegisterAlloc instruction{.dst = builder.allocate_register(), .engine = vector};
    if (sets) instruction.x_constant = 1;
    builder.emit(instruction);
    builder.emit(Memset{.dst = tile, .value = 1, .engine = vector});
    return simulate(*builder.finish()).body;
  };
  const EngineTiming& vector = load_architecture("trn2").vector;
  const Picoseconds step = load_architecture("trn2").clocks.vector.duration(vector.minimum_cycles);
  EXPECT_EQ(time(true) - time(false), step);
}

TEST(Registers, OfOneSequencerAreNotThoseOfAnother) {
  Builder builder("apart", load_architecture("trn2"));
  const View output = builder.argument("output", {1, 2}, Dtype::kInt32);
  builder.emit(RegisterMove{.dst = 7, .src = 5, .engine = EngineKind::kVector});
  builder.emit(RegisterMove{.dst = 7, .src = 6, .engine = EngineKind::kScalar});
  builder.emit(
      RegisterStore{.dst = output.slice(1, 0, 1), .src = 7, .engine = EngineKind::kVector});
  builder.emit(
      RegisterStore{.dst = output.slice(1, 1, 1), .src = 7, .engine = EngineKind::kScalar});
  const auto program = builder.finish();
  ProgramRun run(program);
  ThreadPool pool(2);
  run.execute(make_plan(*program), pool);
  EXPECT_EQ(run.data<int32_t>(0)[0], 5);
  EXPECT_EQ(run.data<int32_t>(0)[1], 6);
}

}  // namespace
}  // namespace neuron_sim
