#include "device/observe/program_counters.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRows = 32, kColumns = 16, kMoving = 64, kItem = 4;

/// What one product of elements of a dtype counts.
ProgramCounters counted_product(Dtype dtype) {
  Builder builder("product", load_architecture("trn2"));
  const View input = builder.argument("input", {kRows, kColumns + kMoving}, dtype);
  const View output = builder.argument("output", {kColumns, kMoving}, Dtype::kFloat32);
  const View data = builder.sbuf("data", {kRows, kColumns + kMoving}, dtype);
  const View sum = builder.psum("sum", {kColumns, kMoving}, Dtype::kFloat32);
  const View result = builder.sbuf("result", {kColumns, kMoving}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = data, .src = input});
  builder.emit(NcMatmul{.dst = sum,
                        .stationary = data.slice(1, 0, kColumns),
                        .moving = data.slice(1, kColumns, kMoving)});
  builder.emit(TensorCopy{.dst = result, .src = sum});
  builder.emit(DmaCopy{.dst = output, .src = result});
  return program_counters(*builder.finish());
}

TEST(ProgramCounters, KeepProductsOf32BitsApart) {
  const int64_t products = kRows * kColumns * kMoving;
  const ProgramCounters wide = counted_product(Dtype::kFloat32);
  EXPECT_EQ(wide.multiply_accumulates, products);
  EXPECT_EQ(wide.fp32_multiply_accumulates, products);
  const ProgramCounters narrow = counted_product(Dtype::kBfloat16);
  EXPECT_EQ(narrow.multiply_accumulates, products);
  EXPECT_EQ(narrow.fp32_multiply_accumulates, 0);
}

TEST(ProgramCounters, MultiplyLoopsOut) {
  Builder builder("products", load_architecture("trn2"));
  const View input = builder.argument("input", {kRows, kColumns + kMoving}, Dtype::kFloat32);
  const View output = builder.argument("output", {kColumns, kMoving}, Dtype::kFloat32);
  const View data = builder.sbuf("data", {kRows, kColumns + kMoving}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {kColumns, kMoving}, Dtype::kFloat32);
  const View result = builder.sbuf("result", {kColumns, kMoving}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = data, .src = input});
  builder.loop(3, [&](const Affine&) {
    builder.emit(NcMatmul{.dst = sum,
                          .stationary = data.slice(1, 0, kColumns),
                          .moving = data.slice(1, kColumns, kMoving)});
    builder.emit(TensorCopy{.dst = result, .src = sum});
  });
  builder.emit(DmaCopy{.dst = output, .src = result});
  const ProgramCounters counters = program_counters(*builder.finish());
  const int64_t in = kRows * (kColumns + kMoving) * kItem, out = kColumns * kMoving * kItem;
  EXPECT_EQ(counters.hbm.read, in);
  EXPECT_EQ(counters.hbm.written, out);
  EXPECT_EQ(counters.sbuf.read, 3 * in + out);
  EXPECT_EQ(counters.sbuf.written, in + 3 * out);
  EXPECT_EQ(counters.psum.read, 3 * out);
  EXPECT_EQ(counters.psum.written, 3 * out);
  EXPECT_EQ(counters.matmul_instructions, 3);
  EXPECT_EQ(counters.multiply_accumulates, 3 * kRows * kColumns * kMoving);
  EXPECT_EQ(counters.transpose_multiply_accumulates, 0);
  EXPECT_EQ(counters.psum_to_sbuf_instructions, 3);
  EXPECT_EQ(counters.psum_to_sbuf_bytes, 3 * out);
}

TEST(ProgramCounters, KeepTransposesApartFromProducts) {
  Builder builder("transpose", load_architecture("trn2"));
  const View input = builder.argument("input", {kRows, kColumns}, Dtype::kFloat32);
  const View output = builder.argument("output", {kColumns, kRows}, Dtype::kFloat32);
  const View data = builder.sbuf("data", {kRows, kColumns}, Dtype::kFloat32);
  const View turned = builder.psum("turned", {kColumns, kRows}, Dtype::kFloat32);
  const View result = builder.sbuf("result", {kColumns, kRows}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = data, .src = input});
  builder.emit(NcTranspose{turned, data, EngineKind::kTensor});
  builder.emit(TensorCopy{.dst = result, .src = turned});
  builder.emit(DmaCopy{.dst = output, .src = result});
  const ProgramCounters counters = program_counters(*builder.finish());
  EXPECT_EQ(counters.matmul_instructions, 1);
  EXPECT_EQ(counters.multiply_accumulates, 0);
  EXPECT_EQ(counters.transpose_multiply_accumulates, kRows * kColumns * kRows);
}

/// Copies from HBM to SBUF as often as a register says that is loaded from memory.
std::shared_ptr<const Program> repeated_copy() {
  Builder builder("repeated", load_architecture("trn2"));
  const View count = builder.argument("count", {1, 1}, Dtype::kInt32);
  const View input = builder.argument("input", {kRows, kColumns}, Dtype::kFloat32);
  const View data = builder.sbuf("data", {kRows, kColumns}, Dtype::kFloat32);
  const int stop = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = stop, .src = count});
  builder.open_range(builder.allocate_register(), {}, {0, static_cast<int16_t>(stop)}, 1);
  builder.emit(DmaCopy{.dst = data, .src = input});
  builder.close_loop();
  return builder.finish();
}

TEST(ProgramCounters, CountTheIterationsOfARun) {
  const auto program = repeated_copy();
  EXPECT_TRUE(has_dynamic_loops(*program));
  for (const int64_t trips : {1, 7}) {
    const ProgramCounters counters = program_counters(*program, {{trips}});
    EXPECT_EQ(counters.sbuf.written, trips * kRows * kColumns * kItem);
    const int64_t packets = counters.static_dma.bytes + counters.hardware_dynamic_dma.bytes +
                            counters.software_dynamic_dma.bytes;
    EXPECT_EQ(packets, counters.sbuf.written);
  }
  EXPECT_THROW(program_counters(*program), KernelError);
}

}  // namespace
}  // namespace neuron_sim
