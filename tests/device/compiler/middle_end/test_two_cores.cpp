// Passes of the middle end leave alone what the other core could see.

#include "device/isa/movement/memset.h"
#include "tests/device/compiler/renamed_line.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

constexpr int64_t kTrips = 4;

/// Core 0 loads rows of `in` kTrips times, between meetings in which core 1 may write them.
StraightLine line_of_loads(bool peer_writes, bool moves, const PassSettings& settings,
                           std::string_view pass) {
  Builder builder("loads", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 512 * kTrips}, Dtype::kFloat32);
  const View out = builder.argument("out", {kTrips, 128, 512}, Dtype::kFloat32);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View sent = builder.sbuf("sent", {128, 512 * kTrips}, Dtype::kFloat32);
      builder.emit(Memset{sent, 0.5});
      if (core == 1 && peer_writes) builder.emit(DmaCopy{.dst = in, .src = sent});
      builder.emit(CoreBarrier{.data = in, .engine = EngineKind::kSync});
      if (core == 1) return;
      builder.loop(kTrips, [&](const Affine& i) {
        const View data = builder.sbuf("data", {128, 512}, Dtype::kFloat32);
        builder.emit(DmaCopy{.dst = data, .src = in.slice(1, moves ? i * 512 : 0, 512)});
        builder.emit(DmaCopy{.dst = out.select(0, i), .src = data});
      });
    });
  }
  StraightLine line = renamed_line(*builder.finish());
  run_pass(line, pass, settings);
  return line;
}

int64_t loads_of(const StraightLine& line) {
  return std::count_if(line.instructions.begin(), line.instructions.end(),
                       [&](const StraightInstruction& each) {
                         return each.instruction.type == &kDmaCopy &&
                                line.operands_of(each)[DmaCopy::kSrc].memory == MemoryKind::kHbm;
                       });
}

TEST(TwoCores, LoadsOfWhatTheOtherCoreWritesAreNotReused) {
  for (const bool peer_writes : {false, true}) {
    const StraightLine line = line_of_loads(peer_writes, false, {}, "reuse_loads");
    EXPECT_EQ(loads_of(line), peer_writes ? kTrips : 1);
  }
}

TEST(TwoCores, LoadsOfWhatTheOtherCoreWritesAreNotMerged) {
  for (const bool peer_writes : {false, true}) {
    const StraightLine line =
        line_of_loads(peer_writes, true, {{"merge_input_loads", 1}}, "merge_dma");
    EXPECT_EQ(loads_of(line), peer_writes ? kTrips : kTrips / 2);
  }
}

/// Core 0 stores a scratch tensor and loads it again after a meeting; core 1 may load it too.
StraightLine forwarded(bool peer_loads, bool peer_stores) {
  Builder builder("stores", load_architecture("trn2"));
  const View out = builder.argument("out", {2, 128, 64}, Dtype::kFloat32);
  const View between = builder.scratch("between", {2, 128, 64}, Dtype::kFloat32);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View values = builder.sbuf("values", {128, 64}, Dtype::kFloat32);
      const View again = builder.sbuf("again", {128, 64}, Dtype::kFloat32);
      const View half = between.select(0, core == 1 && peer_stores ? 0 : core);
      builder.emit(Memset{values, 1.5 + core});
      if (core == 0) builder.emit(DmaCopy{.dst = half, .src = values});
      builder.emit(CoreBarrier{.data = between});
      if (core == 1 && peer_stores) builder.emit(DmaCopy{.dst = half, .src = values});
      builder.emit(CoreBarrier{.data = between});
      if (core == 1 && !peer_loads) return;
      builder.emit(DmaCopy{.dst = again, .src = between.select(0, 0)});
      builder.emit(DmaCopy{.dst = out.select(0, core), .src = again});
    });
  }
  StraightLine line = renamed_line(*builder.finish());
  run_pass(line, "forward_stores");
  return line;
}

TEST(TwoCores, WhatTheOtherCoreStoresOverIsLoadedAgain) {
  EXPECT_EQ(loads_of(forwarded(false, false)), 0);
  EXPECT_EQ(loads_of(forwarded(false, true)), 1);
}

TEST(TwoCores, StoresThatOnlyTheOtherCoreLoadsStay) {
  const StraightLine line = forwarded(true, false);
  const std::vector<std::string_view> after = names(line);
  EXPECT_EQ(std::count(after.begin(), after.end(), "dma_copy"), 3);  // a store, a load, a store
}

TEST(TwoCores, AnExchangeInALoopIsNotHoisted) {
  Builder builder("exchanges", load_architecture("trn2"));
  const View out = builder.argument("out", {2, kTrips, 128, 16}, Dtype::kFloat32);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View sent = builder.sbuf("sent", {128, 16}, Dtype::kFloat32);
      builder.emit(Memset{sent, 1.5 + core});
      builder.loop(kTrips, [&](const Affine& i) {
        const View received = builder.sbuf("received", {128, 16}, Dtype::kFloat32);
        builder.emit(exchange_of(core, received, sent, 0, DmaEngine::kGpSimdDma));
        builder.emit(DmaCopy{.dst = out.select(0, core).select(0, i), .src = received});
      });
    });
  }
  StraightLine line = renamed_line(*builder.finish());
  run_pass(line, "hoist_invariants");
  const std::vector<std::string_view> after = names(line);
  EXPECT_EQ(std::count(after.begin(), after.end(), "sendrecv"), kTrips);
}

}  // namespace
}  // namespace neuron_sim
