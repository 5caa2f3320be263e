#include "device/compiler/line/instance_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

struct InstanceChecksTest : testing::Test {
  Builder builder{"checks", load_architecture("trn2")};
  View x = builder.sbuf("x", {128, 64}, kFloat), y = builder.sbuf("y", {128, 64}, kFloat);
  InstanceChecks checks;

  /// The demands that the instances of the program get, in order.
  std::vector<uint32_t> demands() {
    StraightLine line = *unroll(*builder.finish()).line;
    std::vector<uint32_t> result;
    for (StraightInstruction& instance : line.instructions) {
      EXPECT_TRUE(checks.renew_demand(line, instance));
      result.push_back(instance.instruction.demand);
    }
    return result;
  }
};

TEST_F(InstanceChecksTest, InstancesThatDifferInTheirTilesShareADemand) {
  builder.emit(TensorCopy{x, y});
  builder.emit(TensorCopy{y, x});
  const std::vector<uint32_t> found = demands();
  EXPECT_EQ(found[0], found[1]);
}

TEST_F(InstanceChecksTest, OtherPatternsPlacesAttributesAndEnginesHaveTheirOwn) {
  builder.emit(TensorCopy{x, y});
  builder.emit(TensorCopy{x, x});  // one tile twice
  builder.emit(TensorCopy{x.slice(1, 0, 32), y.slice(1, 0, 32)});
  builder.emit(TensorCopy{x.slice(1, 32, 32), y.slice(1, 0, 32)});
  builder.emit(TensorCopy{x.slice(1, 0, 32, 2), y.slice(1, 0, 32)});
  builder.emit(TensorCopy{x.slice(0, 0, 64), y.slice(0, 0, 64)});
  builder.emit(TensorCopy{x.slice(0, 64, 64), y.slice(0, 0, 64)});
  builder.emit(TensorCopy{.dst = x, .src = y, .engine = EngineKind::kGpSimd});
  builder.emit(Memset{x, 1});
  builder.emit(Memset{x, 2});
  std::vector<uint32_t> found = demands();
  std::sort(found.begin(), found.end());
  EXPECT_EQ(std::unique(found.begin(), found.end()), found.end());
}

TEST_F(InstanceChecksTest, ARefusedInstanceKeepsItsDemandEachTime) {
  builder.emit(TensorCopy{x, y});
  StraightLine line = *unroll(*builder.finish()).line;
  StraightInstruction& instance = line.instructions[0];
  const uint32_t before = instance.instruction.demand;
  instance.instruction.engine = EngineKind::kTensor;
  ASSERT_FALSE(is_legal(line, instance));
  for (int time = 0; time < 2; ++time) {
    EXPECT_FALSE(checks.renew_demand(line, instance));
    EXPECT_EQ(instance.instruction.demand, before);
  }
}

}  // namespace
}  // namespace neuron_sim
