// Times of registers: an instruction whose address holds one waits until its sequencer has it.

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/sequencing/register_load.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

struct Steps : TimelineObserver {
  void step(const Program& program, const StepEvent& event) override {
    if (event.kind != EventKind::kStep) return;
    const InstructionType* type = program.instructions[event.instruction].type;
    if (type == &kRegisterLoad) load = event.span;
    if (type == &kMemset) memset = event.span;
  }
  Span load, memset;
};

/// A register is loaded by `loader`, as soon as a DMA has written its source; then `user` writes a
/// tile at that column, or at a constant.
Steps load_and_write(EngineKind loader, EngineKind user, bool uses_register = true) {
  Builder builder("k", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {128, 512}, Dtype::kFloat32);
  const View count = builder.sbuf("count", {1, 1}, Dtype::kInt32);
  builder.emit(DmaCopy{.dst = count, .src = builder.argument("on_host", {1, 1}, Dtype::kInt32)});
  const int index = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = index, .src = count, .engine = loader});
  const View column = tile.slice(1, 0, 1);
  builder.emit(
      Memset{.dst = uses_register ? column.at_register(index, 4) : column, .engine = user});
  Steps steps;
  simulate(*builder.finish(), {}, {.observer = &steps});
  return steps;
}

TEST(RegisterTimes, AVirtualOneIsAwaitedByEveryEngine) {
  for (const EngineKind user : {EngineKind::kVector, EngineKind::kGpSimd}) {
    const Steps waits = load_and_write(EngineKind::kAuto, user);
    EXPECT_GE(waits.memset.start, waits.load.done);
    const Steps constant = load_and_write(EngineKind::kAuto, user, false);
    EXPECT_LT(constant.memset.start, constant.load.done);
  }
}

TEST(RegisterTimes, OneOfAnEngineIsAwaitedByThatEngineAlone) {
  const Steps own = load_and_write(EngineKind::kVector, EngineKind::kVector);
  EXPECT_GE(own.memset.start, own.load.done);
  const Steps other = load_and_write(EngineKind::kVector, EngineKind::kGpSimd);
  EXPECT_LT(other.memset.start, other.load.done);
}

}  // namespace
}  // namespace neuron_sim
