#include <gtest/gtest.h>

#include "device/isa/activation/activation.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(Activate, AcceptsAConstantBiasOnlyWhereTheArchitectureHasIt) {
  InstructionBench bench;
  bench.architecture().features.scalar_constant_bias = false;
  const View data = bench.tile(kSbuf, kFp32, {2, 2}, "data", {1, 2, -3, -0.0});
  const View dst = bench.tile(kSbuf, kFp32, {2, 2}, "dst");
  Activate activate{.dst = dst, .data = data, .bias = 1.5};
  EXPECT_EQ(bench.error(activate),
            "bias 1.5 of 'activation' must be a vector of one element per partition; architecture "
            "trn2 has no constant bias other than 0.");
  bench.architecture().features.scalar_constant_bias = true;
  bench.run(activate);
  expect_values(bench.get(dst), {2.5, 3.5, -1.5, 1.5});
  activate.bias = 0;
  bench.run(activate);
  expect_values(bench.get(dst), {1, 2, -3, -0.0});
}

TEST(Activate, ReportsWrongBiasScaleAndReduction) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {8, 4}, "data");
  const View dst = bench.tile(kSbuf, kFp32, {8, 4}, "dst");
  const View column = bench.tile(kSbuf, kFp32, {8, 1}, "column");
  const Activate good{.dst = dst, .data = data};
  const auto error = [&](const Activate& activate) { return bench.error(activate); };
  EXPECT_EQ(error(good), "");
  Activate activate = good;
  activate.bias_tile = bench.tile(kSbuf, Dtype::kTfloat32, {8, 1}, "bias");
  EXPECT_EQ(error(activate),
            "dtype tfloat32 of operand 'bias' of 'activation' is not supported; "
            "expected any dtype but tfloat32.");
  activate.bias_tile = column;
  activate.bias = 2;
  EXPECT_EQ(error(activate),
            "'activation' has a bias tile column[8, 1] and a constant bias 2; it "
            "adds only one.");
  activate = good;
  activate.bias_tile = data;
  EXPECT_EQ(error(activate),
            "operand 'bias[8, 4]' of 'activation' must have one element per "
            "partition, but it has 4.");
  activate = good;
  activate.scale_tile = data;
  EXPECT_EQ(error(activate),
            "scale data[8, 4] of 'activation' must be a scalar or a vector of one "
            "element per partition.");
  activate.scale_tile = column;
  activate.scale = 0.5;
  EXPECT_EQ(error(activate),
            "'activation' has a scale tile column[8, 1] and a constant scale 0.5; it multiplies by "
            "only one.");
  activate.scale = 1;
  EXPECT_EQ(error(activate), "");
  activate.scale_tile = bench.tile(kSbuf, kBf16, {8, 1}, "scale");
  EXPECT_EQ(error(activate),
            "dtype bfloat16 of operand 'scale' of 'activation' is not supported; "
            "expected float32.");
  activate = good;
  activate.reduce_command = ReduceCommand::kReduce;
  EXPECT_EQ(error(activate), "reduce_op 'none' of 'activation' is not supported; only 'add' is.");
  activate.reduce_op = AluOp::kMaximum;
  EXPECT_EQ(error(activate), text("reduce_op '", name(AluOp::kMaximum),
                                  "' of 'activation' is not supported; only 'add' is."));
  activate.reduce_op = AluOp::kAdd;
  EXPECT_EQ(error(activate), "");
  activate.reduce_command = ReduceCommand::kLoadReduce;
  EXPECT_EQ(error(activate),
            "'activation' has no initial value for reduce_cmd 'load_reduce'; use "
            "'reset_reduce' or 'reduce'.");
  EXPECT_EQ(bench.error_kind(activate), ErrorKind::kNotImplemented);
  activate = good;
  activate.reduce_res = data;
  EXPECT_EQ(error(activate),
            "operand 'reduce_res[8, 4]' of 'activation' must have one element per partition, but it"
            " has 4.");
  activate = good;
  activate.engine = EngineKind::kVector;
  EXPECT_EQ(error(activate),
            "instruction 'activation' cannot run on the Vector engine; architecture trn2 has it on:"
            " Scalar.");
}

TEST(Activate, ReportsFunctionsWithoutTheirParameters) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {8, 4}, "data");
  const View column = bench.tile(kSbuf, kFp32, {8, 1}, "column");
  const auto error = [&](const Activate& activate) { return bench.error(activate); };
  EXPECT_EQ(error({.dst = data, .data = data, .op = Activation::kPrelu}),
            "op 'prelu' of 'activation' has no slope; 'activate2' has relu_param.");
  Activate activate{.dst = data, .data = data, .op = Activation::kReciprocal, .bias_tile = column};
  EXPECT_EQ(error(activate), "");
  bench.architecture().features.reciprocal_bias = false;
  EXPECT_EQ(error(activate), "op 'reciprocal' of 'activation' takes no bias on architecture trn2.");
  activate.bias_tile = {};
  EXPECT_EQ(error(activate), "");
  EXPECT_EQ(error({.dst = data, .data = View()}),
            "Expected operand 'data' of 'activation' to be in address space 'psum|sbuf', but it is"
            " missing.");
}

}  // namespace
}  // namespace neuron_sim
