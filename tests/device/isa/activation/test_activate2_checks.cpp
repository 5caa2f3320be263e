#include "device/isa/activation/activate2.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(Activate2, ChecksOperatorsAndImmediates) {
  InstructionBench bench(load_architecture("trn3"));
  const View data = bench.tile(kSbuf, kFp32, {2, 6}, "data");
  const View column = bench.tile(kSbuf, kFp32, {2, 1}, "column");
  const Activate2 good{.dst = data, .data = data};
  const auto error = [&](const Activate2& instruction) { return bench.error(instruction); };
  EXPECT_EQ(error(good), "");
  Activate2 instruction = good;
  for (const auto& [op0, op1] : {std::pair{AluOp::kAdd, AluOp::kMultiply},
                                 {AluOp::kAdd, AluOp::kAdd},
                                 {AluOp::kNone, AluOp::kAdd},
                                 {AluOp::kMultiply, AluOp::kMultiply},
                                 {AluOp::kDivide, AluOp::kNone}}) {
    instruction.op0 = op0;
    instruction.op1 = op1;
    EXPECT_EQ(error(instruction),
              text("operators (", name(op0), ", ", name(op1),
                   ") of 'activate2' are not supported; expected one of: (multiply, add), "
                   "(multiply, subtract), (multiply, none), (add, none), (subtract, none), (none, "
                   "none)."));
  }
  instruction = good;
  instruction.imm0 = 2;
  EXPECT_EQ(error(instruction), "'imm0' of 'activate2' is given, but op0 is not.");
  instruction.op0 = AluOp::kMultiply;
  EXPECT_EQ(error(instruction), "");
  instruction.imm1_tile = column;
  EXPECT_EQ(error(instruction), "'imm1' of 'activate2' is given, but op1 is not.");
  instruction.op1 = AluOp::kSubtract;
  EXPECT_EQ(error(instruction), "");
  instruction.imm1_tile = data;
  EXPECT_EQ(error(instruction),
            "operand 'imm1[2, 6]' of 'activate2' must have one element per partition, but it has "
            "6.");
  instruction.imm1_tile = column;
  instruction.imm0_tile = bench.tile(kSbuf, kBf16, {2, 1}, "narrow");
  EXPECT_EQ(error(instruction),
            "dtype float32 of operand 'imm1' of 'activate2' is not supported; expected bfloat16, "
            "the dtype of operand 'imm0'.");
  instruction = good;
  instruction.reverse1 = true;
  EXPECT_EQ(error(instruction), "'imm1' of 'activate2' is given, but op1 is not.");
}

TEST(Activate2, ChecksSlopeReductionEngineAndGeneration) {
  InstructionBench bench(load_architecture("trn3"));
  const View data = bench.tile(kSbuf, kFp32, {2, 6}, "data");
  const Activate2 good{.dst = data, .data = data};
  const auto error = [&](const Activate2& instruction) { return bench.error(instruction); };
  Activate2 instruction = good;
  instruction.relu_param = 0.5;
  EXPECT_EQ(error(instruction),
            "relu_param 0.5 of 'activate2' is given, but op 'copy' has no slope.");
  instruction = good;
  instruction.reduce_command = ReduceCommand::kLoadReduce;
  instruction.reduce_op = AluOp::kAdd;
  EXPECT_EQ(error(instruction),
            "reduce_cmd 'load_reduce' of 'activate2' is not supported; expected one of: idle, "
            "reset, reduce, reset_reduce.");
  instruction.reduce_command = ReduceCommand::kReduce;
  EXPECT_EQ(error(instruction), "");
  for (const AluOp op : {AluOp::kNone, AluOp::kMultiply, AluOp::kSubtract}) {
    instruction.reduce_op = op;
    EXPECT_EQ(error(instruction),
              text("reduce_op '", name(op), "' of 'activate2' is not supported; expected one of: ",
                   "add, maximum, minimum, abs_max, abs_min."));
  }
  instruction = good;
  instruction.reduce_res = data;
  EXPECT_EQ(error(instruction),
            "operand 'reduce_res[2, 6]' of 'activate2' must have one element per partition, but it "
            "has 6.");
  instruction = good;
  instruction.engine = EngineKind::kVector;
  EXPECT_EQ(error(instruction),
            "instruction 'activate2' cannot run on the Vector engine; architecture trn3 has it on: "
            "Scalar.");
  bench.architecture() = test_architecture();
  EXPECT_EQ(error(good),
            "instruction 'activate2' needs NeuronCore-v4 or newer; architecture trn2 is a "
            "NeuronCore-v3.");
  EXPECT_EQ(bench.error_kind(good), ErrorKind::kNotImplemented);
}

TEST(Activate2, DemandsWhatActivationDemands) {
  InstructionBench bench(load_architecture("trn3"));
  const View narrow = bench.tile(kPsum, kBf16, {2, 60}, "narrow");
  const View wide = bench.tile(kSbuf, kFp32, {2, 60}, "wide");
  Activate2 instruction{.dst = wide, .op = Activation::kExp, .data = narrow};
  Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kOneInput);
  EXPECT_EQ(step.table, table_of(Activation::kExp));
  EXPECT_EQ(step.elements, 60);
  EXPECT_TRUE(step.source_psum);
  EXPECT_FALSE(step.pointer_operand || step.reads_accumulator);
  instruction.dst = narrow;
  instruction.op0 = AluOp::kMultiply;
  instruction.imm0_tile = instruction.reduce_res = bench.tile(kSbuf, kFp32, {2, 1}, "column");
  step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kScalar16bit);
  EXPECT_TRUE(step.pointer_operand && step.reads_accumulator);
}

}  // namespace
}  // namespace neuron_sim
