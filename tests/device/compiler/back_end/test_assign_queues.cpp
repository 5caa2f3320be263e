#include "device/compiler/back_end/assign_queues.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

struct Trigger {
  EngineKind engine;
  DescriptorKind descriptors;
  bool operator==(const Trigger&) const = default;
};

constexpr Trigger kSoftware{EngineKind::kGpSimd, DescriptorKind::kSoftware};
constexpr Trigger kHardwareLoad{EngineKind::kSync, DescriptorKind::kHardware};
constexpr Trigger kHardwareStore{EngineKind::kScalar, DescriptorKind::kHardware};

/// Triggers of all transfers, in program order.
std::vector<Trigger> triggers(Builder& builder, const PassSettings& settings) {
  StraightLine line = *unroll(*builder.finish()).line;
  run_pass(line, "assign_queues", settings);
  std::vector<Trigger> result;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type != &kDmaCopy) continue;
    const Step& step = line.demands[instance.instruction.demand].steps[0];
    result.push_back({instance.instruction.engine, step.descriptors});
  }
  return result;
}

/// A load and a store of each kind of tensor, left open by the kernel.
void emit_transfers(Builder& builder, EngineKind engine = EngineKind::kAuto) {
  const View in = builder.argument("in", {128, 8}, kFloat);
  const View out = builder.argument("out", {128, 8}, kFloat);
  const View scratch = builder.scratch("scratch", {128, 8}, kFloat);
  const View constant =
      builder.constant("constant", {128, 8}, kFloat, std::vector<std::byte>(128 * 8 * 4));
  const View tile = builder.sbuf("tile", {128, 8}, kFloat);
  builder.emit(DmaCopy{.dst = tile, .src = in, .engine = engine});
  builder.emit(DmaCopy{.dst = tile, .src = constant, .engine = engine});
  builder.emit(DmaCopy{.dst = scratch, .src = tile, .engine = engine});
  builder.emit(DmaCopy{.dst = tile, .src = scratch, .engine = engine});
  builder.emit(DmaCopy{.dst = out, .src = tile, .engine = engine});
}

TEST(AssignQueues, ArgumentsTakeGpSimdOthersSyncAndScalar) {
  Builder builder("kinds", load_architecture("trn2"));
  emit_transfers(builder);
  EXPECT_EQ(triggers(builder, {}), (std::vector<Trigger>{kSoftware, kHardwareLoad, kHardwareStore,
                                                         kHardwareLoad, kSoftware}));
}

TEST(AssignQueues, WithoutDescriptorGenerationLoadsTakeSyncAndStoresGpSimd) {
  constexpr Trigger kLoad{EngineKind::kSync, DescriptorKind::kStatic};
  constexpr Trigger kStore{EngineKind::kGpSimd, DescriptorKind::kStatic};
  const std::vector<Trigger> expected{kLoad, kLoad, kStore, kLoad, kStore};
  Builder idle("idle", load_architecture("trn2"));
  emit_transfers(idle);
  EXPECT_EQ(triggers(idle, {{"disable_dge", 1}}), expected);
  Builder busy("busy", load_architecture("trn1"));  // generates no descriptors at all
  busy.emit(Memset{busy.sbuf("tile", {128, 8}, kFloat), 1, EngineKind::kGpSimd});
  emit_transfers(busy);
  EXPECT_EQ(triggers(busy, {}), expected);
}

TEST(AssignQueues, AnEngineThatTheKernelNamesIsKept) {
  Builder kept("kept", load_architecture("trn2"));
  emit_transfers(kept, EngineKind::kScalar);
  EXPECT_EQ(triggers(kept, {}), std::vector<Trigger>(5, kHardwareStore));
}

TEST(AssignQueues, DescriptorsThatTheKernelNamesAreKept) {
  Builder builder("named", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 8}, kFloat);
  const View tile = builder.sbuf("tile", {128, 8}, kFloat);
  builder.emit(DmaCopy{.dst = tile, .src = in, .descriptors = DescriptorKind::kHardware});
  EXPECT_EQ(triggers(builder, {}), std::vector<Trigger>{kHardwareLoad});
}

TEST(AssignQueues, ACastThatHardwareDescriptorsCannotMakeStaysWithSoftware) {
  Builder builder("cast", load_architecture("trn2"));
  const View scratch = builder.scratch("scratch", {128, 8}, Dtype::kBfloat16);
  const View tile = builder.sbuf("tile", {128, 8}, kFloat);
  builder.emit(DmaCopy{.dst = scratch, .src = tile});
  EXPECT_EQ(triggers(builder, {}), std::vector<Trigger>{kSoftware});
}

TEST(AssignQueues, TransfersWithinTheChipStay) {
  Builder builder("chip", load_architecture("trn2"));
  const View from = builder.sbuf("from", {128, 8}, kFloat);
  const View to = builder.sbuf("to", {128, 8}, kFloat);
  builder.emit(DmaCopy{.dst = to, .src = from});
  const PassSettings disabled{{"disable_dge", 1}};
  EXPECT_EQ(triggers(builder, disabled), std::vector<Trigger>{kHardwareLoad});
}

}  // namespace
}  // namespace neuron_sim
