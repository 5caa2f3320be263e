#include "device/compiler/middle_end/elide_psum_copies.h"

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

enum class Reader { kVector, kScalarSlice, kTensor, kTransfer, kGpSimd };

/// `products` tiles of PSUM, all copied to SBUF before the copies are read.
struct Copies {
  int64_t products = 2, columns = 512;
  Reader reader = Reader::kVector;
  Dtype copied = Dtype::kFloat32;

  std::shared_ptr<const Program> program() const {
    Builder builder("copies", load_architecture("trn2"));
    const View in = builder.argument("in", {128, 512}, Dtype::kFloat32);
    const View out = builder.argument("out", {128, products, columns}, copied);
    const View x = builder.sbuf("x", {128, 512}, Dtype::kFloat32);
    const View results = builder.sbuf("results", {128, products, columns}, copied);
    const View copies = builder.sbuf("copies", {128, products, columns}, copied);
    builder.emit(DmaCopy{.dst = x, .src = in});
    builder.loop(products, [&](const Affine& i) {
      const View sum = builder.psum("sum", {128, columns});
      builder.emit(
          NcMatmul{.dst = sum, .stationary = x.slice(1, i, 128), .moving = x.slice(1, 0, columns)});
      builder.emit(TensorCopy{copies.select(1, i), sum});
    });
    builder.loop(products, [&](const Affine& i) {
      read(builder, x, copies.select(1, i), results.select(1, i));
    });
    builder.emit(DmaCopy{.dst = out, .src = results});
    return builder.finish();
  }

  void read(Builder& builder, const View& x, const View& copy, const View& result) const {
    if (reader == Reader::kVector) {
      builder.emit(TensorReduce{.dst = result.slice(1, 0, 1), .data = copy, .op = AluOp::kAdd});
      builder.emit(Activate{.dst = result, .data = copy, .op = Activation::kRelu});
    } else if (reader == Reader::kScalarSlice) {
      builder.emit(Activate{.dst = result, .data = copy, .op = Activation::kRelu});
      builder.emit(Activate{.dst = result.slice(1, 1, columns / 2, 2).slice(0, 32, 32),
                            .data = copy.slice(1, 0, columns / 2, 2).slice(0, 64, 32),
                            .op = Activation::kRelu});
    } else if (reader == Reader::kTensor) {
      const View sum = builder.psum("second", {128, columns});
      builder.emit(NcMatmul{.dst = sum, .stationary = x.slice(1, 0, 128), .moving = copy});
      builder.emit(Activate{.dst = result, .data = sum, .op = Activation::kRelu});
    } else if (reader == Reader::kTransfer) {
      builder.emit(DmaCopy{.dst = result, .src = copy});
    } else {
      builder.emit(TensorCopy{result, copy, EngineKind::kGpSimd});
    }
  }
};

/// Copies out of PSUM that are left.
int64_t copies_left(const Copies& copies) {
  const auto program = copies.program();
  StraightLine line = renamed_line(*program);
  run_pass(line, "elide_psum_copies");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  int64_t count = 0;
  for (const StraightInstruction& instance : line.instructions) {
    const auto operands = line.operands_of(instance);
    const bool copy = instance.instruction.type == &kTensorCopy;
    if (copy && operands[1].memory == MemoryKind::kPsum) ++count;
  }
  return count;
}

TEST(ElidePsumCopies, VectorAndScalarReadPsumInstead) {
  EXPECT_EQ(copies_left(Copies{}), 0);
  EXPECT_EQ(copies_left(Copies{.products = 3, .columns = 38, .reader = Reader::kScalarSlice}), 0);
  EXPECT_EQ(copies_left(Copies{.products = 1, .columns = 1}), 0);
}

TEST(ElidePsumCopies, WhatOtherEnginesReadStays) {
  for (const Reader reader : {Reader::kTensor, Reader::kTransfer, Reader::kGpSimd}) {
    EXPECT_EQ(copies_left(Copies{.reader = reader}), 2);
  }
}

TEST(ElidePsumCopies, ACopyThatCastsStays) {
  EXPECT_EQ(copies_left(Copies{.copied = Dtype::kBfloat16}), 2);
}

TEST(ElidePsumCopies, NoMoreTilesStayInPsumThanThereAreBanks) {
  EXPECT_EQ(copies_left(Copies{.products = 8}), 0);
  EXPECT_EQ(copies_left(Copies{.products = 9}), 9);
}

}  // namespace
}  // namespace neuron_sim
