// batch_narrow_operations on results of more than one element: a whole loop or nothing.

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/compiler/back_end/allocate.h"
#include "device/compiler/batching/batch_narrow_operations.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr int64_t kTaps = 3;

/// Output t is the sum of the products of `kTaps` elements from t with a filter.
std::shared_ptr<const Program> windows(int64_t outputs) {
  Builder builder("windows", load_architecture("trn1"));
  const View in = builder.argument("in", {7, outputs + kTaps - 1}, Dtype::kFloat32);
  const View taps = builder.argument("taps", {7, kTaps}, Dtype::kFloat32);
  const View out = builder.argument("out", {7, outputs}, Dtype::kFloat32);
  const View data = builder.sbuf("data", {7, outputs + kTaps - 1}, Dtype::kFloat32);
  const View filter = builder.sbuf("filter", {7, kTaps}, Dtype::kFloat32);
  const View result = builder.sbuf("result", {7, outputs}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = data, .src = in});
  builder.emit(DmaCopy{.dst = filter, .src = taps});
  builder.loop(outputs, [&](const Affine& t) {
    const View products = builder.sbuf("products", {7, kTaps}, Dtype::kFloat32);
    builder.emit(TensorTensor{products, data.slice(1, t, kTaps), filter, AluOp::kMultiply});
    builder.emit(TensorReduce{.dst = result.slice(1, t, 1), .data = products, .op = AluOp::kAdd});
  });
  builder.emit(DmaCopy{.dst = out, .src = result});
  return builder.finish();
}

/// Instructions of the two statements that are left.
std::pair<size_t, size_t> batched(int64_t outputs) {
  const std::shared_ptr<const Program> program = windows(outputs);
  StraightLine line = *unroll(*program).line;
  run_pass(line, "rename_buffers");
  run_pass(line, "batch_narrow_operations");
  EXPECT_TRUE(run_pass(line, "allocate_sbuf"));
  const std::shared_ptr<const Program> after = lower(std::move(line));
  EXPECT_EQ(bytes_after(program), bytes_after(after));
  return {instructions_named(*after, "tensor_tensor").size(),
          instructions_named(*after, "tensor_reduce").size()};
}

TEST(BatchWideResults, ALoopOfAtMost512ElementsIsOneInstruction) {
  EXPECT_EQ(batched(64), (std::pair<size_t, size_t>{1, 1}));
  EXPECT_EQ(batched(kBatchElements / kTaps), (std::pair<size_t, size_t>{1, 1}));
}

TEST(BatchWideResults, ALongerLoopKeepsItsWideResults) {
  constexpr int64_t kOutputs = kBatchElements / kTaps + 1;
  EXPECT_EQ(batched(kOutputs).first, static_cast<size_t>(kOutputs));
}

}  // namespace
}  // namespace neuron_sim
