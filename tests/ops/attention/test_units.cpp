#include "ops/attention/units.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

HbmTensor tensor(Builder& builder, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& strides = {}) {
  return argument_tensor(builder, "x", {shape, strides, Dtype::kFloat32});
}

TEST(AttentionUnits, TakeSeveralHeadsWhileTheyHaveFewStepsAndFit) {
  Builder builder("units", load_architecture("trn2"));
  const std::vector<HbmTensor> all{tensor(builder, {3, 4, 1, 10, 8})};
  EXPECT_EQ(plan_units(all, 1, 100, 100000, 1).key_heads, 6);  // of 12, at most 8 steps
  EXPECT_EQ(plan_units(all, 3, 100, 100000, 1).key_heads, 2);
  EXPECT_EQ(plan_units(all, 1, 100, 700, 1).key_heads, 3);  // two units are on chip
  EXPECT_EQ(plan_units(all, 9, 100, 100000, 1).units, 12);
}

TEST(AttentionUnits, AreAloneInASectionWhenTwoDoNotFit) {
  Builder builder("units", load_architecture("trn2"));
  const std::vector<HbmTensor> all{tensor(builder, {1, 4, 1, 10, 8})};
  const AttentionUnits units = plan_units(all, 9, 600, 1000, 1);
  EXPECT_EQ(units.units, 1);
  EXPECT_EQ(units.sections, 4);
}

TEST(AttentionUnits, KeepImagesApartThatDoNotFollowEachOther) {
  Builder builder("units", load_architecture("trn2"));
  const HbmTensor dense = tensor(builder, {3, 4, 1, 10, 8});
  const HbmTensor inner = tensor(builder, {3, 4, 1, 10, 8}, {320, 8, 8, 32, 1});
  EXPECT_EQ(plan_units(std::vector{dense}, 1, 1, 100, 1).images, 1);
  const AttentionUnits units = plan_units(std::vector{dense, inner}, 1, 1, 100, 1);
  EXPECT_EQ(units.images, 3);
  EXPECT_EQ(units.key_heads * units.units, 4);
  EXPECT_EQ(units.start(inner, 2, 0).constant(), 640);
}

TEST(AttentionUnits, HaveOneKeyHeadWhenQueryHeadsShareIt) {
  Builder builder("units", load_architecture("trn2"));
  const AttentionUnits units =
      plan_units(std::vector{tensor(builder, {1, 4, 3, 10, 8})}, 1, 1, 100, 1);
  EXPECT_EQ(units.key_heads, 1);
  EXPECT_EQ(units.heads(), 3);
}

/// What a pipeline of units without loops emits, "stage unit.step" each.
std::string emitted(int64_t units, int64_t steps) {
  Builder builder("pipeline", load_architecture("trn2"));
  std::string result;
  const auto stage = [&](const char* name) {
    return [&result, name](const Affine& unit, int64_t step) {
      result += name + std::to_string(unit.constant()) + "." + std::to_string(step) + " ";
    };
  };
  const auto event = [&](const char* name) {
    return [&result, name](const Affine& unit) {
      result += name + std::to_string(unit.constant()) + " ";
    };
  };
  emit_pipeline(builder, {.units = units,
                          .steps = steps,
                          .stages = {{0, stage("a")}, {1, stage("b")}, {2, stage("c")}},
                          .load = event("load"),
                          .prepare = event("prepare"),
                          .finish = event("finish")});
  return result;
}

TEST(AttentionPipeline, EmitsStagesOfAStepBetweenThoseOfItsSuccessors) {
  EXPECT_EQ(emitted(1, 3), "load0 prepare0 a0.0 a0.1 b0.0 a0.2 b0.1 c0.0 b0.2 c0.1 c0.2 finish0 ");
  EXPECT_EQ(emitted(2, 2),
            "load0 prepare0 a0.0 a0.1 b0.0 load1 prepare1 a1.0 b0.1 c0.0 a1.1 b1.0 c0.1 finish0 "
            "b1.1 c1.0 c1.1 finish1 ");
}

TEST(AttentionPipeline, OfUnitsOfOneStepReachesBackByUnits) {
  EXPECT_EQ(emitted(3, 1),
            "load0 prepare0 a0.0 load1 prepare1 a1.0 b0.0 load2 prepare2 a2.0 b1.0 c0.0 finish0 "
            "b2.0 c1.0 finish1 c2.0 finish2 ");
}

TEST(AttentionPipeline, KeepsOperandsUntilTheirLastStage) {
  EXPECT_EQ(pipeline_ring(1, 5, 2), 1);
  EXPECT_EQ(pipeline_ring(9, 5, 2), 2);
  EXPECT_EQ(pipeline_ring(9, 1, 2), 3);
  EXPECT_EQ(pipeline_ring(2, 1, 3), 2);
  EXPECT_EQ(pipeline_ring(9, 1, 3), 4);
}

TEST(HeadOperand, LiesStackedWhereTransposedHeadsFollowEachOtherAndFillThePartitions) {
  const auto lies = [](int64_t heads, int64_t width, int64_t gap, bool transposed = true) {
    Builder builder("units", load_architecture("trn2"));
    const int64_t head = (width + gap) * 140;
    const std::vector<int64_t> strides{heads * head, head, head, transposed ? 1 : width,
                                       transposed ? 140 : 1};
    const HbmTensor operand = tensor(builder, {1, heads, 1, 140, width}, strides);
    return HeadOperand::lies_stacked(builder.limits(), operand, heads);
  };
  EXPECT_TRUE(lies(4, 64, 0));
  EXPECT_TRUE(lies(4, 32, 0));
  EXPECT_FALSE(lies(4, 64, 1));
  EXPECT_FALSE(lies(4, 64, 0, false));
  EXPECT_FALSE(lies(3, 64, 0));   // half a tile would be left
  EXPECT_FALSE(lies(2, 128, 0));  // one fills the partitions
  EXPECT_FALSE(lies(2, 48, 0));   // not a part of the partitions
  EXPECT_FALSE(lies(8, 16, 0));   // engines start at every 32nd partition
}

}  // namespace
}  // namespace neuron_sim
