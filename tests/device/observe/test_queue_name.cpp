#include "device/observe/queue_name.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/observe/recording.h"
#include "device/observe/tracks.h"

namespace neuron_sim {
namespace {

/// The queues that a program's transfers use, in the order of its instructions.
std::vector<std::string> queues(const Program& program) {
  std::vector<std::string> names;
  for (const Instruction& instruction : program.instructions) {
    names.push_back(queue_name(instruction.engine, queue_kind(program, instruction)));
  }
  return names;
}

/// A load of an argument and a store to a tensor of the kernel itself, with those descriptors.
std::shared_ptr<const Program> copies(const std::string& chip,
                                      std::optional<DescriptorKind> descriptors) {
  Builder builder("copies", load_architecture(chip));
  const View argument = builder.argument("argument", {128, 64}, Dtype::kFloat32);
  const View scratch = builder.scratch("scratch", {128, 64}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
  builder.emit(DmaCopy{
      .dst = tile, .src = argument, .descriptors = descriptors, .engine = EngineKind::kSync});
  builder.emit(DmaCopy{
      .dst = scratch, .src = tile, .descriptors = descriptors, .engine = EngineKind::kScalar});
  return builder.finish();
}

using Names = std::vector<std::string>;

TEST(QueueName, OfTheCompilersDescriptorsSaysWhetherTheyMoveArguments) {
  EXPECT_EQ(queues(*copies("trn1", {})), (Names{"qSyncIO0", "qScalarSpillReload0"}));
  EXPECT_EQ(queues(*copies("trn2", DescriptorKind::kStatic)),
            (Names{"qSyncIO0", "qScalarSpillReload0"}));
}

TEST(QueueName, OfDynamicDescriptorsSaysWhoMakesThem) {
  EXPECT_EQ(queues(*copies("trn2", DescriptorKind::kHardware)),
            (Names{"qSyncDynamicHW", "qScalarDynamicHW"}));
  EXPECT_EQ(queue_name(EngineKind::kGpSimd, QueueKind::kSoftwareDynamic), "qGpSimdDynamic");
}

TEST(QueueName, QueuesOfOneEngineHaveTracksOfTheirOwn) {
  Builder builder("both", load_architecture("trn1"));
  const View argument = builder.argument("argument", {128, 64}, Dtype::kFloat32);
  const View scratch = builder.scratch("scratch", {128, 64}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = tile, .src = argument, .engine = EngineKind::kSync});
  builder.emit(DmaCopy{.dst = scratch, .src = tile, .engine = EngineKind::kSync});
  const auto program = builder.finish();
  const Recording recording = record(*program);
  const TrackLayout layout = lay_out(recording);
  Names names;
  for (size_t event = 0; event < recording.events.size(); ++event) {
    if (recording.events[event].step.kind != EventKind::kTransfer) continue;
    names.push_back(layout.tracks[layout.of_event[event]].name);
  }
  EXPECT_EQ(names, (Names{"qSyncIO0", "qSyncSpillReload0"}));
  for (size_t share = 0; share < recording.shares.size(); ++share) {
    const Track& ring = layout.tracks[layout.of_share[share]];
    EXPECT_EQ(ring.name, text(ring.group, ", ring ", recording.shares[share].share.engine));
  }
}

}  // namespace
}  // namespace neuron_sim
