#include "device/analysis/memory_use.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

TEST(MemoryUse, NamesTheMostLiveBytesAndTheLiveRangeOfEveryTensor) {
  Builder builder("kernel", load_architecture("trn2"));
  const View sum = builder.psum("sum", {128, 8}),
             first = builder.sbuf("tile[0]", {128, 64}, kFloat);
  const View second = builder.sbuf("tile[1]", {128, 64}, kFloat);
  const View other = builder.sbuf("other", {128, 16}, kFloat);
  builder.emit(Memset{first, 1});
  builder.emit(Memset{sum, 1});
  builder.set_source_line("kernel.py:7");
  builder.emit(TensorTensor{second, first, first, AluOp::kAdd});
  builder.emit(TensorCopy{other.slice(1, 0, 8), sum});
  EXPECT_EQ(memory_listing(*builder.finish()),
            "memory of kernel 'kernel' on trn2:\n"
            "sbuf: 212984 bytes per partition, at most 512 live, at 'tensor_tensor' "
            "(kernel.py:7)\n"
            "  tile   shape      dtype    bytes   count  sum  lines\n"
            "  tile   [128, 64]  float32    256       2  512  kernel.py:7\n"
            "  other  [128, 16]  float32     64  0 of 1    0  kernel.py:7\n"
            "  sum: 512 of 212984 bytes per partition\n"
            "psum: 16384 bytes per partition, at most 32 live, at 'memset'\n"
            "  tile  shape     dtype    bytes  count  sum  lines\n"
            "  sum   [128, 8]  float32     32      1   32  kernel.py:7\n"
            "  sum: 32 of 16384 bytes per partition\n");
}

TEST(MemoryUse, ATileInALoopLivesThroughIt) {
  Builder builder("kernel", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {128, 64}, kFloat);
  builder.loop(4, [&](const Affine&) { builder.emit(Memset{tile, 1}); });
  EXPECT_NE(memory_listing(*builder.finish())
                .find("at a loop\n"
                      "  tile  shape      dtype    bytes  count  sum\n"
                      "  tile  [128, 64]  float32    256      1  256\n"),
            std::string::npos);
}

TEST(MemoryUse, MemoriesWithoutTilesAreLeftOut) {
  Builder builder("kernel", load_architecture("trn2"));
  builder.emit(Memset{builder.sbuf("tile", {128, 64}, kFloat), 1});
  EXPECT_EQ(memory_listing(*builder.finish()).find("psum"), std::string::npos);
}

}  // namespace
}  // namespace neuron_sim
