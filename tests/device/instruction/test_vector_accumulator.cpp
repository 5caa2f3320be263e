#include "device/instruction/vector_accumulator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/operand/engine_state.h"

namespace neuron_sim {
namespace {

TEST(VectorAccumulator, EveryCommandStartsFromItsOwnValue) {
  const std::vector<float> values = {3, -1, 8};
  const auto update = [&](ReduceCommand command, AluOp op) {
    return Accumulation{command, op}.update(10, 100, values.data(), 3);
  };
  EXPECT_EQ(update(ReduceCommand::kIdle, AluOp::kAdd), 10);
  EXPECT_EQ(update(ReduceCommand::kReset, AluOp::kAdd), 0);
  EXPECT_EQ(update(ReduceCommand::kReduce, AluOp::kAdd), 20);
  EXPECT_EQ(update(ReduceCommand::kResetReduce, AluOp::kAdd), 10);
  EXPECT_EQ(update(ReduceCommand::kLoadReduce, AluOp::kAdd), 110);
  EXPECT_EQ(update(ReduceCommand::kReset, AluOp::kMultiply), 1);
  EXPECT_EQ(update(ReduceCommand::kReduce, AluOp::kMultiply), -240);
  EXPECT_EQ(update(ReduceCommand::kReset, AluOp::kMaximum), -INFINITY);
  EXPECT_EQ(update(ReduceCommand::kReduce, AluOp::kMaximum), 10);
  EXPECT_EQ(update(ReduceCommand::kResetReduce, AluOp::kMaximum), 8);
  EXPECT_EQ(update(ReduceCommand::kLoadReduce, AluOp::kMinimum), -1);
  EXPECT_EQ(update(ReduceCommand::kReduce, AluOp::kSubtract), 0);
  EXPECT_EQ(update(ReduceCommand::kResetReduce, AluOp::kSubtract), -4);
  EXPECT_EQ(update(ReduceCommand::kLoadReduce, AluOp::kSubtract), 90);
}

TEST(VectorAccumulator, GoesOnAddingInOrder) {
  const std::vector<float> ones(8, 1);  // each is lost beside 2^24; all of them together are not
  const Accumulation reduce{ReduceCommand::kReduce, AluOp::kAdd};
  EXPECT_EQ(reduce.update(16777216, 0, ones.data(), 8), 16777216);
}

TEST(VectorAccumulator, IsAnOperandOnlyOfInstructionsThatChangeOrReadIt) {
  const View result = engine_state(EngineState::kScalarAccumulator, 7);  // any [7, 1] view
  EXPECT_FALSE(vector_accumulator(ReduceCommand::kIdle, {}, 7).present());
  const View read = vector_accumulator(ReduceCommand::kIdle, result, 7);
  EXPECT_EQ(read.tile(), static_cast<TileId>(EngineState::kVectorAccumulator));
  EXPECT_EQ(read.shape(), (std::vector<int64_t>{7, 1}));
  EXPECT_TRUE(vector_accumulator(ReduceCommand::kReset, {}, 7).present());
}

TEST(VectorAccumulator, CommandsHaveTheNamesAndNumbersOfTheVendor) {
  EXPECT_EQ(name(ReduceCommand::kIdle), "idle");
  EXPECT_EQ(name(ReduceCommand::kLoadReduce), "load_reduce");
  EXPECT_EQ(static_cast<int>(ReduceCommand::kReset), 1);
  EXPECT_EQ(static_cast<int>(ReduceCommand::kReduce), 2);
  EXPECT_EQ(static_cast<int>(ReduceCommand::kResetReduce), 3);
  EXPECT_EQ(static_cast<int>(ReduceCommand::kLoadReduce), 4);
}

}  // namespace
}  // namespace neuron_sim
