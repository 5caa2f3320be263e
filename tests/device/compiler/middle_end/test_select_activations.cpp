#include "device/compiler/middle_end/select_activations.h"

#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

/// out[row] = in[row] op0 operand0 op1 operand1, [128, 64] each.
struct Scalings {
  const char* architecture = "trn1";
  AluOp op0 = AluOp::kMultiply, op1 = AluOp::kNone;
  bool tile0 = false, tile1 = false;
  bool reverse = false;
  Dtype dtype = kFloat;
  EngineKind engine = EngineKind::kAuto;
  double number = 0.7;  ///< of op1

  std::shared_ptr<const Program> program() const {
    Builder builder("scalings", load_architecture(architecture));
    const View in = builder.argument("in", {4, 128, 64}, dtype);
    const View vectors = builder.argument("vectors", {128, 2}, kFloat);
    const View out = builder.argument("out", {4, 128, 64}, dtype);
    const View loaded = builder.sbuf("loaded", {128, 2}, kFloat);
    builder.emit(DmaCopy{.dst = loaded, .src = vectors});
    for (int64_t row = 0; row < 4; ++row) {
      const View data = builder.sbuf("data", {128, 64}, dtype);
      builder.emit(DmaCopy{.dst = data, .src = in.select(0, row)});
      TensorScalar scaled{.dst = data, .data = data, .op0 = op0, .constant0 = 0.3};
      if (tile0) scaled.operand0 = loaded.slice(1, 0, 1);
      scaled.op1 = op1;
      scaled.constant1 = op1 == AluOp::kNone ? 0 : number;
      if (tile1) scaled.operand1 = loaded.slice(1, 1, 1);
      scaled.reverse0 = reverse;
      scaled.engine = engine;
      builder.emit(scaled);
      builder.emit(DmaCopy{.dst = out.select(0, row), .src = data});
    }
    return builder.finish();
  }
};

const PassSettings& settings() {
  static const PassSettings all{{"rename_buffers", 1}, {"schedule", 1}, {"select_activations", 1}};
  return all;
}

/// Activations among the four operations, after a comparison of the bytes.
int64_t activations(const Scalings& scalings) {
  const auto program = scalings.program();
  const auto compiled = compile(program, settings()).program;
  EXPECT_EQ(bytes_after(program), bytes_after(compiled));
  const auto found = instructions_named(*compiled, "activation");
  EXPECT_EQ(found.size() + instructions_named(*compiled, "tensor_scalar").size(), 4U);
  for (const Instruction* each : found) EXPECT_EQ(each->engine, EngineKind::kScalar);
  return std::ssize(found);
}

TEST(SelectActivations, ProductsAndSumsWithVectorsGoToScalar) {
  for (const Dtype dtype : {kFloat, Dtype::kBfloat16, Dtype::kFloat16}) {
    for (const bool reverse : {false, true}) {
      EXPECT_EQ(activations({.reverse = reverse, .dtype = dtype}), 4);
      EXPECT_EQ(activations({.tile0 = true, .reverse = reverse, .dtype = dtype}), 4);
      EXPECT_EQ(activations({.op0 = AluOp::kAdd, .tile0 = true, .dtype = dtype}), 4);
      EXPECT_EQ(activations({.op1 = AluOp::kAdd, .tile0 = reverse, .tile1 = true}), 4);
    }
  }
}

TEST(SelectActivations, SumsWithNumbersGoToScalar) {
  for (const Dtype dtype : {kFloat, Dtype::kBfloat16, Dtype::kFloat16, Dtype::kInt32}) {
    EXPECT_EQ(activations({.op0 = AluOp::kAdd, .dtype = dtype}), 4);
    EXPECT_EQ(activations({.op1 = AluOp::kAdd, .tile0 = true, .dtype = dtype}), 4);
    EXPECT_EQ(activations({.op1 = AluOp::kAdd, .dtype = dtype, .number = 0}), 4);
  }
}

TEST(SelectActivations, ANumberThatIsAddedIsSetOnceForAllPartitionsAndIterations) {
  Builder builder("sums", load_architecture("trn1"));
  const View in = builder.argument("in", {128, 64}, kFloat);
  const View out = builder.argument("out", {128, 64}, kFloat);
  const View data = builder.sbuf("data", {128, 64}, kFloat);
  builder.emit(DmaCopy{.dst = data, .src = in});
  builder.loop(3, [&](const Affine&) {
    for (const int64_t start : {0, 64}) {
      const View rows = data.slice(0, start, 64);
      for (const double number : {0.3, 0.7}) {
        builder.emit(TensorScalar{.dst = rows, .data = rows, .constant0 = number});
      }
    }
  });
  builder.emit(DmaCopy{.dst = out, .src = data});
  const auto program = builder.finish();
  const auto compiled = compile(program, settings()).program;
  EXPECT_EQ(bytes_after(program), bytes_after(compiled));
  EXPECT_EQ(instructions_named(*compiled, "activation").size(), 12U);
  EXPECT_EQ(instructions_named(*compiled, "memset").size(), 2U);
}

TEST(SelectActivations, AChangedInstanceHasTheOnlyNewOperandsAndARefusedOneNone) {
  for (const bool refused : {false, true}) {
    const AluOp op = refused ? AluOp::kSubtract : AluOp::kAdd;
    StraightLine line = *unroll(*Scalings{.op0 = op}.program()).line;
    const size_t before = line.operands.size();
    select_activations(line);
    // Of each sum the result, the data and the column, which one memset fills.
    EXPECT_EQ(line.operands.size() - before, refused ? 0U : 4 * (Activate::kBias + 1) + 1);
  }
}

TEST(SelectActivations, WhatAnActivationDoesNotComputeStaysOnVector) {
  EXPECT_EQ(activations({.op0 = AluOp::kSubtract, .tile0 = true}), 0);
  EXPECT_EQ(activations({.op0 = AluOp::kMaximum}), 0);
  EXPECT_EQ(activations({.op0 = AluOp::kAdd, .op1 = AluOp::kMultiply, .tile0 = true}), 0);
  EXPECT_EQ(activations({.op1 = AluOp::kSubtract, .tile1 = true}), 0);
}

TEST(SelectActivations, TheEngineThatAKernelNamesStays) {
  EXPECT_EQ(activations({.engine = EngineKind::kVector}), 0);
}

TEST(SelectActivations, LaterGenerationsKeepTheirTensorScalarOnVector) {
  EXPECT_EQ(activations({.architecture = "trn2", .tile0 = true}), 0);
}

}  // namespace
}  // namespace neuron_sim
