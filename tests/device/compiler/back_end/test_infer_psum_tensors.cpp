#include "device/compiler/back_end/infer_psum_tensors.h"

#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRows = 12;

/// out[row] = in[row] + exp(in[row]), [128, columns] each.
struct Sums {
  const char* architecture = "trn1";
  Dtype dtype = Dtype::kFloat32;
  int64_t columns = 512;
  EngineKind engine = EngineKind::kVector;  ///< of the sums
  bool twice = false;                       ///< a second sum reads the same result
  bool between = false;                     ///< another instruction stands before the sum
  bool stored = false;                      ///< the result is stored as well

  std::shared_ptr<const Program> program() const {
    Builder builder("sums", load_architecture(architecture));
    const View in = builder.argument("in", {kRows, 128, columns}, dtype);
    const View out = builder.argument("out", {kRows, 128, columns}, dtype);
    const View more = builder.argument("more", {kRows, 128, columns}, dtype);
    for (int64_t row = 0; row < kRows; ++row) {
      const View data = builder.sbuf("data", {128, columns}, dtype);
      const View exponential = builder.sbuf("exponential", {128, columns}, dtype);
      const View sum = builder.sbuf("sum", {128, columns}, dtype);
      builder.emit(DmaCopy{.dst = data, .src = in.select(0, row)});
      builder.emit(Activate{.dst = exponential, .data = data, .op = Activation::kExp});
      if (between) builder.emit(Activate{.dst = sum, .data = data});
      builder.emit(TensorTensor{.dst = sum, .data1 = data, .data2 = exponential, .engine = engine});
      if (twice) builder.emit(TensorTensor{.dst = sum, .data1 = sum, .data2 = exponential});
      builder.emit(DmaCopy{.dst = out.select(0, row), .src = sum});
      if (stored) builder.emit(DmaCopy{.dst = more.select(0, row), .src = exponential});
    }
    return builder.finish();
  }
};

PassSettings settings(bool on) {
  return {{"rename_buffers", 1}, {"schedule", 1}, {"infer_psum_tensors", on ? 1 : 0}};
}

/// Activations whose results lie in PSUM, after a comparison of the bytes.
int64_t in_psum(const Sums& sums) {
  const auto program = sums.program();
  const auto compiled = compile(program, settings(true)).program;
  EXPECT_EQ(bytes_after(program), bytes_after(compiled));
  int64_t count = 0;
  for (const Instruction* each : instructions_named(*compiled, "activation")) {
    count += compiled->operands_of(*each)[0].memory == MemoryKind::kPsum ? 1 : 0;
  }
  return count;
}

TEST(InferPsumTensors, WhatOnlyTheNextSumReadsLiesInPsum) {
  EXPECT_EQ(in_psum({}), kRows);
  EXPECT_EQ(in_psum({.columns = 64}), kRows);
}

TEST(InferPsumTensors, AResultLargerThanABankStaysInSbuf) {
  EXPECT_EQ(in_psum({.columns = 513}), 0);
}

TEST(InferPsumTensors, WhatAnythingElseReadsStaysInSbuf) {
  EXPECT_EQ(in_psum({.twice = true}), 0);
  EXPECT_EQ(in_psum({.stored = true}), 0);
}

TEST(InferPsumTensors, AResultThatWaitsForItsReaderStaysInSbuf) {
  EXPECT_EQ(in_psum({.between = true}), 0);
}

TEST(InferPsumTensors, WhereTwoTilesOfSbufAreAsFastNothingMoves) {
  EXPECT_EQ(in_psum({.dtype = Dtype::kBfloat16}), 0);
  EXPECT_EQ(in_psum({.architecture = "trn2"}), 0);
}

TEST(InferPsumTensors, VectorTakesLessTimeForTheSums) {
  const auto program = Sums{}.program();
  const Timing with = simulate(*compile(program, settings(true)).program);
  const Timing without = simulate(*compile(program, settings(false)).program);
  constexpr auto kVector = static_cast<size_t>(EngineKind::kVector);
  // Two cycles per element become one, less what Vector waits for Scalar at the port of PSUM.
  const double saved = (without.busy[kVector] - with.busy[kVector]).nanoseconds();
  EXPECT_LE(saved, kRows * 512 / 1.12 + 1);
  EXPECT_GT(saved, kRows * 512 / 1.12 / 2);
}

}  // namespace
}  // namespace neuron_sim
