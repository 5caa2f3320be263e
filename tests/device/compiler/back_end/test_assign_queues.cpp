#include "device/compiler/back_end/assign_queues.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
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

std::vector<Trigger> static_on(std::initializer_list<EngineKind> engines) {
  std::vector<Trigger> result;
  for (const EngineKind engine : engines) result.push_back({engine, DescriptorKind::kStatic});
  return result;
}

TEST(AssignQueues, WithoutDescriptorGenerationLoadsAndStoresTakeTurnsOnIdleEnginesOfTheirOwn) {
  Builder idle("idle", load_architecture("trn2"));
  emit_transfers(idle);
  EXPECT_EQ(triggers(idle, {{"disable_dge", 1}}),
            static_on({EngineKind::kSync, EngineKind::kGpSimd, EngineKind::kVector,
                       EngineKind::kScalar, EngineKind::kTensor}));
  Builder busy("busy", load_architecture("trn1"));  // generates no descriptors at all
  const View tile = busy.sbuf("tile", {128, 8}, kFloat);
  for (const EngineKind engine : {EngineKind::kVector, EngineKind::kGpSimd}) {
    busy.emit(Memset{tile, 1, engine});
  }
  emit_transfers(busy);
  EXPECT_EQ(triggers(busy, {}),
            static_on({EngineKind::kSync, EngineKind::kScalar, EngineKind::kTensor,
                       EngineKind::kSync, EngineKind::kTensor}));
}

/// Transfers beside a copy out of PSUM, with work on all engines but Sync and Scalar.
std::vector<Trigger> beside_a_copy(EngineKind copies, const PassSettings& settings) {
  Builder builder("copies", load_architecture("trn1"));
  const View sum = builder.psum("sum", {128, 8});
  const View tile = builder.sbuf("result", {128, 8}, kFloat);
  const View weights = builder.sbuf("weights", {128, 128}, kFloat);
  builder.emit(Memset{weights, 1, EngineKind::kGpSimd});
  builder.emit(Memset{tile, 1, EngineKind::kVector});
  builder.emit(NcMatmul{.dst = sum, .stationary = weights, .moving = tile});
  builder.emit(TensorCopy{.dst = tile, .src = sum, .engine = copies});
  emit_transfers(builder);
  return triggers(builder, settings);
}

TEST(AssignQueues, ScalarIsNotIdleWhenCopiesMayMoveThere) {
  const std::vector<Trigger> idle =
      static_on({EngineKind::kSync, EngineKind::kSync, EngineKind::kScalar, EngineKind::kSync,
                 EngineKind::kScalar});
  const std::vector<Trigger> busy(5, Trigger{EngineKind::kSync, DescriptorKind::kStatic});
  const PassSettings moves{{"choose_copy_engines", 1}};
  EXPECT_EQ(beside_a_copy(EngineKind::kAuto, {}), idle);
  EXPECT_EQ(beside_a_copy(EngineKind::kAuto, moves), busy);
  EXPECT_EQ(beside_a_copy(EngineKind::kVector, moves), idle);
}

TEST(AssignQueues, AnEngineThatTheKernelNamesIsKeptOnRequest) {
  const PassSettings settings{{"keep_explicit_queues", 1}};
  Builder kept("kept", load_architecture("trn2"));
  emit_transfers(kept, EngineKind::kScalar);
  EXPECT_EQ(triggers(kept, settings), std::vector<Trigger>(5, kHardwareStore));
  Builder moved("moved", load_architecture("trn2"));
  emit_transfers(moved, EngineKind::kScalar);
  EXPECT_EQ(triggers(moved, {})[0], kSoftware);
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
